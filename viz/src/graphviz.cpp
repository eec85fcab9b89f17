// A Canvas as a Graphviz graph with every position pinned, rendered by the nop2 engine. Only this
// file and graph_ids.cpp know cgraph and gvc. Graphviz keeps global state and reports to stderr, so one lock
// and one error catcher serve all.
#include <graphviz/cgraph.h>
#include <graphviz/gvc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "canvas.hpp"
#include "dashlab/core/error.hpp"
#include "dashlab/core/whole_file.hpp"
#include "dashlab/viz/picture.hpp"
#include "graph_ids.hpp"

namespace dashlab::viz {
namespace {

std::mutex graphviz_lock;
std::string graphviz_says;  // guarded by graphviz_lock

int catch_message(char* message) {
  graphviz_says += message;
  return 0;
}

// Graphviz's messages go into graphviz_says while one of these lives, afterwards where they went before.
class CaughtMessages {
 public:
  CaughtMessages() : before_(agseterrf(catch_message)), level_(agseterr(AGWARN)) { graphviz_says.clear(); }
  ~CaughtMessages() {
    agseterrf(before_);
    agseterr(level_);
  }
  CaughtMessages(const CaughtMessages&) = delete;
  CaughtMessages& operator=(const CaughtMessages&) = delete;

 private:
  agusererrf before_;
  agerrlevel_t level_;
};

// cgraph takes char* for what it only reads.
char* mutable_text(const char* text) {
  return const_cast<char*>(text);
}

std::string number(double value) {
  std::array<char, 32> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, 3);
  return {buffer.data(), end.ptr};
}

void add_line(std::string& out, std::string_view line) {
  for (const char c : clean_text(line)) {
    if (c == '\\') out += '\\';
    out += c;
    if (c == '&') out += "\xe2\x80\x8b";
  }
}

// Labels pass through Graphviz's escapes (\N, \G, \n) and its HTML entities; both must come out as typed. Its
// SVG writer lets anything that looks like an entity through, so an ampersand is followed by a zero-width
// space there.
std::string label_text(std::string_view text) {
  std::string out;
  bool first = true;
  for (std::size_t begin = 0; begin <= text.size(); first = false) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (!first) out += "\\n";
    add_line(out, text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}
void set(void* object, Agsym_t* symbol, const std::string& value) {
  agxset(object, symbol, mutable_text(value.c_str()));
}

Agsym_t* declare(Agraph_t* graph, int kind, const char* name, const std::string& value) {
  Agsym_t* symbol = agattr(graph, kind, mutable_text(name), mutable_text(value.c_str()));
  if (symbol == nullptr) throw EnvironmentError(std::string("Graphviz does not take the attribute ") + name);
  return symbol;
}

class Graph {
 public:
  explicit Graph(const Canvas& canvas) : canvas_(canvas), graph_(open()) {
    set_graph();
    set_defaults();
    add_clusters();
    add_boxes();
    add_curves();
  }
  ~Graph() { agclose(graph_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  [[nodiscard]] Agraph_t* get() const noexcept { return graph_; }

 private:
  static Agraph_t* open() {
    Agraph_t* graph = open_graph("dashlab");
    if (graph == nullptr) throw EnvironmentError("Graphviz cannot make a graph: out of memory");
    return graph;
  }

  void graph_attribute(const char* name, const std::string& value) { declare(graph_, AGRAPH, name, value); }

  void set_graph() {
    graph_attribute("bb", "0,0," + number(canvas_.width()) + "," + number(canvas_.height()));
    graph_attribute("pad", "0");
    graph_attribute("margin", "0");
    graph_attribute("outputorder", canvas_.curves_on_top ? "nodesfirst" : "edgesfirst");
    graph_attribute("charset", "UTF-8");
    graph_attribute("fontname", font_family);
    graph_attribute("label", "");
    graph_attribute("splines", "true");
    graph_attribute("_background", canvas_.background());
    graph_attribute("tooltip", label_text(canvas_.title()));
  }

  Agsym_t* node_default(const char* name, const char* value) { return declare(graph_, AGNODE, name, value); }
  Agsym_t* edge_default(const char* name, const char* value) { return declare(graph_, AGEDGE, name, value); }

  void set_defaults() {
    node_default("shape", "box");
    node_default("fixedsize", "true");
    node_default("margin", "0");
    node_default("fontname", font_family);
    label_ = node_default("label", "");
    pos_ = node_default("pos", "");
    width_ = node_default("width", "1");
    height_ = node_default("height", "1");
    style_ = node_default("style", "filled");
    fill_ = node_default("fillcolor", "#ffffff");
    line_ = node_default("color", "#ffffff");
    pen_ = node_default("penwidth", "0.5");
    font_size_ = node_default("fontsize", "9");
    font_colour_ = node_default("fontcolor", "#1b1f24");
    edge_default("fontname", font_family);
    edge_default("label", "");
    edge_default("arrowsize", "0.5");
    edge_pos_ = edge_default("pos", "");
    edge_colour_ = edge_default("color", "#1b1f24");
    edge_pen_ = edge_default("penwidth", "1");
    edge_style_ = edge_default("style", "solid");
    edge_head_ = edge_default("arrowhead", "normal");
    edge_label_ = edge_default("label", "");
    edge_label_pos_ = edge_default("lp", "");
    edge_font_size_ = edge_default("fontsize", "8");
    edge_font_colour_ = edge_default("fontcolor", "#1b1f24");
  }

  std::string position(double x, double y) const { return number(x) + "," + number(canvas_.height() - y); }

  void add_boxes() {
    nodes_.reserve(canvas_.boxes().size());
    for (const Box& box : canvas_.boxes()) {
      const std::string name = unique_name(box.name);
      Agnode_t* node = agnode(graph_, mutable_text(name.c_str()), 1);
      nodes_.push_back(node);
      set(node, pos_, position((box.left + box.right) / 2, (box.top + box.bottom) / 2));
      set(node, width_, number((box.right - box.left) / 72));
      set(node, height_, number((box.bottom - box.top) / 72));
      if (box.fill != nullptr) set(node, fill_, box.fill);
      if (box.rounded || box.dashed || box.invisible || box.fill == nullptr) {
        std::string style = box.invisible ? "invis" : box.fill == nullptr ? "solid" : "filled";
        if (box.rounded) style += ",rounded";
        if (box.dashed) style += ",dashed";
        set(node, style_, style);
      }
      set(node, line_, box.line);
      if (box.line_width != 0.5) set(node, pen_, number(box.line_width));
      if (!box.label.empty()) {
        set(node, label_, label_text(box.label));
        set(node, font_size_, number(box.font_size));
        set(node, font_colour_, box.font_colour);
      }
    }
  }

  // Names are taken literally by Graphviz, but its SVG writer lets entities through here too.
  std::string unique_name(std::string_view text) const {
    std::string name;
    for (const char c : clean_text(text)) {
      name += c;
      if (c == '&') name += "\xe2\x80\x8b";
    }
    std::string free = name;
    for (int i = 2; agnode(graph_, free.data(), 0) != nullptr; ++i)
      free = name + " (" + std::to_string(i) + ")";
    return free;
  }

  void add_clusters() {
    if (canvas_.clusters().empty()) return;
    Agsym_t* const box = declare(graph_, AGRAPH, "bb", agget(graph_, mutable_text("bb")));
    Agsym_t* const tooltip = declare(graph_, AGRAPH, "tooltip", agget(graph_, mutable_text("tooltip")));
    Agsym_t* const style = declare(graph_, AGRAPH, "style", "");
    Agsym_t* const fillcolor = declare(graph_, AGRAPH, "fillcolor", "");
    Agsym_t* const color = declare(graph_, AGRAPH, "color", "");
    std::size_t i = 0;
    for (const Cluster& cluster : canvas_.clusters()) {
      Agraph_t* sub = agsubg(graph_, ("cluster_" + std::to_string(i++)).data(), 1);
      subgraphs_.push_back(sub);
      set(sub, box, position(cluster.left, cluster.bottom) + "," + position(cluster.right, cluster.top));
      set(sub, style, "filled");
      set(sub, fillcolor, cluster.fill);
      set(sub, color, cluster.line);
      set(sub, tooltip, label_text(cluster.name));
    }
  }

  void add_curves() {
    for (std::size_t c = 0; c < subgraphs_.size(); ++c)
      for (const std::size_t box : canvas_.clusters()[c].boxes) agsubnode(subgraphs_[c], nodes_[box], 1);
    for (const Curve& curve : canvas_.curves()) {
      Agedge_t* edge = agedge(graph_, nodes_[curve.from], nodes_[curve.to], nullptr, 1);
      std::string pos;
      if (curve.arrow) pos = "e," + position(curve.points.back().first, curve.points.back().second) + " ";
      for (const auto& [x, y] : shortened(curve)) pos += position(x, y) + " ";
      pos.pop_back();
      set(edge, edge_pos_, pos);
      set(edge, edge_colour_, curve.colour);
      if (curve.width != 1) set(edge, edge_pen_, number(curve.width));
      if (curve.dashed) set(edge, edge_style_, "dashed");
      if (!curve.arrow) set(edge, edge_head_, "none");
      if (!curve.label.empty()) {
        set(edge, edge_label_, label_text(curve.label));
        set(edge, edge_label_pos_, position(curve.label_x, curve.label_y));
        set(edge, edge_font_size_, number(curve.font_size));
        set(edge, edge_font_colour_, curve.colour);
      }
    }
  }

  // Graphviz draws the arrow head from the spline's end to the point after "e,": the spline must end before
  // it.
  static std::vector<std::pair<double, double>> shortened(const Curve& curve) {
    auto points = curve.points;
    if (!curve.arrow) return points;
    const auto [x, y] = points.back();
    const auto [px, py] = points[points.size() - 2];
    const double length = std::max(1e-9, std::hypot(x - px, y - py));
    const double cut = std::min(5.0, length * 0.9);
    points.back() = {x - (x - px) / length * cut, y - (y - py) / length * cut};
    return points;
  }

  const Canvas& canvas_;
  Agraph_t* graph_;
  std::vector<Agnode_t*> nodes_;
  std::vector<Agraph_t*> subgraphs_;
  Agsym_t *label_{}, *pos_{}, *width_{}, *height_{}, *style_{}, *fill_{}, *line_{}, *pen_{}, *font_size_{},
      *font_colour_{};
  Agsym_t *edge_pos_{}, *edge_colour_{}, *edge_pen_{}, *edge_style_{}, *edge_head_{}, *edge_label_{},
      *edge_label_pos_{}, *edge_font_size_{}, *edge_font_colour_{};
};

// gvc's context: it loads plugins once and keeps them, so it is made once for the whole run.
GVC_t* context() {
  static GVC_t* const gvc = gvContext();
  if (gvc == nullptr) throw EnvironmentError("Graphviz cannot start: out of memory");
  return gvc;
}

[[noreturn]] void fail(const char* doing) {
  std::string words = graphviz_says;
  for (char& c : words)
    if (c == '\n') c = ' ';
  while (!words.empty() && words.back() == ' ') words.pop_back();
  throw EnvironmentError(std::string("Graphviz cannot ") + doing + (words.empty() ? "" : ": " + words) +
                         "; is the package graphviz with its plugins installed?");
}

std::string graph_text(Agraph_t* graph) {
  char* data = nullptr;
  std::size_t size = 0;
  std::FILE* memory = open_memstream(&data, &size);
  if (memory == nullptr) throw EnvironmentError("cannot write the graph: out of memory");
  const int status = agwrite(graph, memory);
  std::fclose(memory);
  std::string text(data, size);
  std::free(data);
  if (status < 0) fail("write the graph");
  return text;
}

// Without a font Pango draws an empty box for every letter, or reports letters kilometres wide, and nobody
// complains. So two letters are measured first, once: in any font for text a W is wider than an i.
void need_a_font() {
  static bool found = false;
  if (found) return;
  Agraph_t* graph = agopen(mutable_text("font"), Agdirected, nullptr);
  Agsym_t* label = declare(graph, AGNODE, "label", "");
  declare(graph, AGNODE, "fontname", font_family);
  declare(graph, AGNODE, "pos", "0,0");
  const auto node = [&](const char* letter) {
    Agnode_t* made = agnode(graph, mutable_text(letter), 1);
    set(made, label, letter);
    return made;
  };
  Agnode_t *narrow = node("i"), *wide = node("W");
  if (gvLayout(context(), graph, "nop2") == 0) {
    const double width = ND_label(wide)->dimen.x;
    found = width < 200 && width > 1.2 * ND_label(narrow)->dimen.x;
    gvFreeLayout(context(), graph);
  }
  agclose(graph);
  if (!found)
    throw EnvironmentError("no font for text found: install one, for example the package fonts-liberation");
}

std::string rendered(Agraph_t* graph, const char* format) {
  need_a_font();
  if (gvLayout(context(), graph, "nop2") != 0) fail("place the picture");
  char* data = nullptr;
  unsigned int size = 0;
  const int status = gvRenderData(context(), graph, format, &data, &size);
  std::string bytes = status == 0 && data != nullptr ? std::string(data, size) : std::string();
  if (data != nullptr) gvFreeRenderData(data);
  gvFreeLayout(context(), graph);
  if (bytes.empty()) fail((std::string("render ") + format).c_str());
  return bytes;
}

}  // namespace

PictureFormat picture_format(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".svg") return PictureFormat::svg;
  if (ending == ".png") return PictureFormat::png;
  if (ending == ".pdf") return PictureFormat::pdf;
  if (ending == ".dot" || ending == ".gv") return PictureFormat::dot;
  throw BadInput("cannot tell the picture format of '" + path.string() +
                 "': end the name in .svg, .png, .pdf, .dot, .html or .json");
}

Picture::Picture(Canvas canvas) : canvas_(std::make_unique<Canvas>(std::move(canvas))) {}
Picture::~Picture() = default;
Picture::Picture(Picture&&) noexcept = default;
Picture& Picture::operator=(Picture&&) noexcept = default;

double Picture::width() const noexcept {
  return canvas_->width();
}
double Picture::height() const noexcept {
  return canvas_->height();
}

std::string Picture::bytes(PictureFormat format) const {
  const std::lock_guard guard(graphviz_lock);
  const CaughtMessages caught;
  const Graph graph(*canvas_);
  if (format == PictureFormat::dot) return graph_text(graph.get());
  if (format == PictureFormat::png) {
    // Twice the screen's density for sharp slides, less where the bitmap would pass 20,000 pixels a side.
    const double longest = std::max(canvas_->width(), canvas_->height());
    const double dpi = std::min(144.0, 20000.0 * 72 / longest);
    declare(graph.get(), AGRAPH, "dpi", number(dpi));
  }
  return rendered(graph.get(), format == PictureFormat::svg   ? "svg"
                               : format == PictureFormat::png ? "png"
                                                              : "pdf");
}

void Picture::write(const std::filesystem::path& path) const {
  write_file(path, bytes(picture_format(path)));
}

}  // namespace dashlab::viz
