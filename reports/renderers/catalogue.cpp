#include "reports/renderers/renderer.hpp"

namespace spillway {

std::unique_ptr<Renderer> make_html(const RenderOptions& options);
std::unique_ptr<Renderer> make_markdown(const RenderOptions& options);
std::unique_ptr<Renderer> make_text(const RenderOptions& options);
std::unique_ptr<Renderer> make_csv(const RenderOptions& options);

namespace {

constexpr RendererEntry kRenderers[] = {
    {"html", "One self-contained page with charts, tables and code; nothing is loaded.", make_html},
    {"md", "Markdown tables, for a pull request.", make_markdown},
    {"text", "Aligned tables for a terminal.", make_text},
    {"csv", "Every table as RFC 4180 comma-separated values, one after another.", make_csv},
};

}  // namespace

std::span<const RendererEntry> renderers() {
  return kRenderers;
}

}  // namespace spillway
