// The data come first: everything after reads them.
"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);
