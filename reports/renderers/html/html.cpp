// One self-contained HTML page: style, script, data and licences inline; nothing is loaded. A
// content security policy names the hashes of exactly these scripts and this style, so that nothing
// else runs; all text from inputs is escaped besides.
#include <fmt/format.h>

#include "reports/markup.hpp"
#include "reports/renderers/html/assets.hpp"
#include "reports/renderers/html/body.hpp"
#include "reports/renderers/renderer.hpp"

namespace spillway {

namespace {

std::string policy(bool charts) {
  std::string scripts = policy_hash(asset("page.js"));
  if (charts) scripts += " " + policy_hash(asset("echarts.min.js"));
  return fmt::format(
      "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; "
      "form-action 'none'",
      scripts, policy_hash(asset("style.css")));
}

void licences(std::ostream& out) {
  out << "<!--\nCharts are drawn by Apache ECharts, under the Apache License 2.0\n"
         "(https://www.apache.org/licenses/LICENSE-2.0), which holds parts of zrender, d3 and "
         "tslib.\n";
  for (const char* name : {"NOTICE", "LICENSE-zrender", "LICENSE-d3", "LICENSE-tslib"}) {
    out << "\n" << name << ":\n" << asset(name) << "\n";
  }
  out << "-->\n";
}

class Html final : public Renderer {
 public:
  void render(const Report& report, std::ostream& out) const override {
    const Body body(report);
    out << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        << "<meta http-equiv=\"Content-Security-Policy\" content=\"" << policy(body.has_charts())
        << "\">\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
        << "<meta name=\"color-scheme\" content=\"light dark\">\n"
        << "<meta name=\"referrer\" content=\"no-referrer\">\n"
        << "<title>" << html_text(report.title, 300) << "</title>\n<style>" << asset("style.css")
        << "</style></head>\n<body>\n"
        << body.html();
    if (body.has_charts()) {
      licences(out);
      out << "<script>" << asset("echarts.min.js") << "</script>\n"
          << "<script type=\"application/json\" id=\"chart-data\">" << body.data() << "</script>\n";
    }
    out << "<script>" << asset("page.js") << "</script>\n</body></html>\n";
  }
};

}  // namespace

std::unique_ptr<Renderer> make_html(const RenderOptions&) {
  return std::make_unique<Html>();
}

}  // namespace spillway
