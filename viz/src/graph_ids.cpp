#include "graph_ids.hpp"

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace dashlab::viz {
namespace {

// Names have even identities, anonymous objects odd ones, as cgraph expects.
struct Names {
  std::deque<std::string> names;  // of identity 2, 4, ...; they stay where they are
  std::unordered_map<std::string_view, IDTYPE> ids;
  IDTYPE anonymous = 0;
};

void* open_names(Agraph_t* /*graph*/, Agdisc_t* /*discipline*/) {
  return new Names;  // until close_names
}

void close_names(void* state) {
  delete static_cast<Names*>(state);
}

long map_name(void* state, int /*kind*/, char* text, IDTYPE* id, int create) {
  auto& all = *static_cast<Names*>(state);
  if (text == nullptr) {
    *id = 2 * all.anonymous++ + 1;
    return 1;
  }
  const auto known = all.ids.find(text);
  if (known != all.ids.end()) {
    *id = known->second;
    return 1;
  }
  if (create == 0) return 0;
  *id = 2 * (all.names.size() + 1);
  all.ids.emplace(all.names.emplace_back(text), *id);
  return 1;
}

void free_id(void* /*state*/, int /*kind*/, IDTYPE /*id*/) {}

char* name_of(void* state, int /*kind*/, IDTYPE id) {
  auto& all = *static_cast<Names*>(state);
  return id % 2 == 0 && id != 0 && id / 2 <= all.names.size() ? all.names[id / 2 - 1].data() : nullptr;
}

}  // namespace

Agraph_t* open_graph(const char* name) {
  static Agiddisc_t ids = [] {
    Agiddisc_t own = AgIdDisc;  // what is not replaced uses no state
    own.open = open_names;
    own.map = map_name;
    own.free = free_id;
    own.print = name_of;
    own.close = close_names;
    return own;
  }();
  static Agdisc_t discipline = [] {
    Agdisc_t own = AgDefaultDisc;
    own.id = &ids;
    return own;
  }();
  return agopen(const_cast<char*>(name), Agdirected, &discipline);  // which only reads the name
}

}  // namespace dashlab::viz
