// Renderers: a Report in, a document out.
#pragma once

#include <memory>
#include <ostream>
#include <span>
#include <string_view>

#include "reports/report.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

class Renderer {
 public:
  virtual ~Renderer() = default;
  virtual void render(const Report& report, std::ostream& out) const = 0;
};

/// How a text renderer may use the terminal.
struct RenderOptions {
  bool color = false;
};

using RendererEntry = Entry<Renderer, RenderOptions>;
std::span<const RendererEntry> renderers();

}  // namespace spillway
