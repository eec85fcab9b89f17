# Install rules and the CMake package come here.
