// A finished drawing and the formats it can be written in, through Graphviz as a library.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace dashlab::viz {

class Canvas;

enum class PictureFormat { svg, png, pdf, dot };

/// The format that a file name asks for. Throws BadInput for another ending, naming those that exist.
PictureFormat picture_format(const std::filesystem::path& path);

/// A drawing. Cheap to move; made by draw_timeline, draw_compare and draw_dag.
class Picture {
 public:
  /// Takes a finished canvas.
  explicit Picture(Canvas canvas);
  ~Picture();
  Picture(Picture&&) noexcept;
  Picture& operator=(Picture&&) noexcept;

  /// The file's bytes. dot is plain Graphviz text with every position pinned (`neato -n2` draws it). Safe to
  /// call from several threads (Graphviz is not: one at a time inside). Throws EnvironmentError with
  /// Graphviz's own words when a format or a font is missing.
  [[nodiscard]] std::string bytes(PictureFormat format) const;
  /// Writes the file whole or not at all; the format follows the name. Throws BadInput, EnvironmentError.
  void write(const std::filesystem::path& path) const;
  /// Size in points (1/72 inch).
  [[nodiscard]] double width() const noexcept;
  /// Size in points (1/72 inch).
  [[nodiscard]] double height() const noexcept;

 private:
  std::unique_ptr<Canvas> canvas_;
};

}  // namespace dashlab::viz
