// Rate tables: ServeGen's published facts, statistics by hand, and every faulty cell.
#include "traces/formats/rate_table.hpp"

#include <string>
#include <vector>

#include "tests/traces/trace_text.hpp"

namespace spillway {
namespace {

using test::error_of;
using test::Scratch;

const std::string kHeader = "client,start_s,rate_rps,cv,dist,param1,param2\n";

ArrivalRates table_of(const std::string& text) {
  const Scratch scratch;
  return read_rate_table(scratch.file("rates.csv", text));
}

TEST_CASE("ServeGen's m-small rates have their published facts", "[traces]") {
  const auto rates = test::material("traces/servegen_m-small_client_rates.csv.gz");
  const test::Figures figure(rates, "rates");
  CHECK(is_rate_table(rates.path));
  const ArrivalRates table = read_rate_table(rates.path);
  const RateStats s = rate_stats(table);
  CHECK(s.rows == figure(40'095u, "rows"));
  CHECK(s.clients == figure(43u, "clients"));
  CHECK(table.window_s == 600);
  const double rounded = rates.published ? 0.5 : 1e-9;  // what was published is rounded
  CHECK(s.mean_rps == Approx(figure(1'196.0, "mean_rps")).margin(rounded));
  CHECK(s.median_rps == Approx(figure(1'165.0, "median_rps")).margin(rounded));
  CHECK(s.min_rps == Approx(figure(391.0, "min_rps")).margin(rounded));
  CHECK(s.max_rps == Approx(figure(3'880.0, "max_rps")).margin(rounded));
  const int days = figure(14, "days");
  CHECK(s.first_s + s.span_s <= days * 86'400);
  CHECK(s.first_s + s.span_s > (days - 1) * 86'400);
  // Its first rows, as its documentation shows them.
  CHECK(table.client[0] == 0);
  CHECK(table.start_s[0] == figure(143'400, "first_start_s"));
  CHECK(table.rate_rps[0] == figure(0.07666666666666666, "first_rate_rps"));
  CHECK(table.cv[0] == figure(1.1562268743398203, "first_cv"));
  CHECK((table.dist[0] == RateDist::kGamma) == figure(true, "first_gamma"));
  CHECK(table.shape[0] == figure(0.74802116038809, "first_shape"));
  CHECK(table.scale[0] == figure(0.04435406418012669, "first_scale"));
  CHECK((table.dist[1] == RateDist::kWeibull) == figure(true, "second_weibull"));
}

TEST_CASE("rates are summed over the clients of a window", "[traces]") {
  // Windows 0: 1 + 2 = 3 rps; 600: 5; 1800: 4; nothing at 1200, which does not count.
  const ArrivalRates table = table_of(kHeader +
                                      "7,0,1,1,Gamma,1,1\n"
                                      "7,1800,4,3,Weibull,1,1\n"
                                      "9,0,2,2,Gamma,1,1\n"
                                      "9,600,5,8,Gamma,1,1\n");
  CHECK(table.window_s == 600);
  const RateStats s = rate_stats(table);
  CHECK(s.rows == 4);
  CHECK(s.clients == 2);
  CHECK(s.windows == 3);
  CHECK(s.first_s == 0);
  CHECK(s.span_s == 2'400);
  CHECK(s.mean_rps == 4);
  CHECK(s.median_rps == 4);
  CHECK(s.min_rps == 3);
  CHECK(s.max_rps == 5);
  CHECK(s.requests == 12 * 600);
  CHECK(s.gamma_rows == 3);
  CHECK(s.median_cv == 2.5);
  CHECK(s.max_cv == 8);
}

TEST_CASE("the window is what all gaps between starts are multiples of", "[traces]") {
  const auto window = [](const std::vector<std::string>& starts) {
    std::string text = kHeader;
    for (const std::string& start : starts) text += "1," + start + ",1,1,Gamma,1,1\n";
    return table_of(text).window_s;
  };
  CHECK(window({"900"}) == 600);  // one window says nothing: ServeGen's
  CHECK(window({"0", "300"}) == 300);
  CHECK(window({"2500", "1300", "100"}) == 1'200);
  CHECK(window({"0", "1200", "3000"}) == 600);
}

TEST_CASE("columns of a rate table are found by name in any order", "[traces]") {
  const ArrivalRates table =
      table_of("dist,param2,param1,cv,rate_rps,client,start_s\r\n\"Weibull\",2,3,0,0,4294967295,5");
  CHECK(table.client == std::vector<std::uint32_t>{4'294'967'295});
  CHECK(table.start_s[0] == 5);
  CHECK(table.rate_rps[0] == 0);
  CHECK(table.shape[0] == 3);
  CHECK(table.scale[0] == 2);
}

TEST_CASE("malformed rows of arrival rates", "[traces]") {
  struct Case {
    std::string row;
    std::string says;  ///< right behind "file:3: "
  };
  const std::vector<Case> cases = {
      {"1,0,1,1,Gamma,1", "expected 7 columns, found 6"},
      {"1,0,1,1,Gamma,1,1,1", "expected 7 columns, found 8"},
      {",0,1,1,Gamma,1,1", "client: expected a whole number, found \"\""},
      {"-1,0,1,1,Gamma,1,1", "client: expected a whole number, found \"-1\""},
      {"4294967296,0,1,1,Gamma,1,1", "client: expected 0 to 4294967295, found 4294967296"},
      {"1,0.5,1,1,Gamma,1,1", "start_s: expected a whole number, found \"0.5\""},
      {"1,100000001,1,1,Gamma,1,1", "start_s: expected 0 to 100000000, found 100000001"},
      {"0,0,1,1,Gamma,1,1",
       "start_s: expected each window of a client once, found 0 s of client 0 again"},
      {"1,0,,1,Gamma,1,1", "rate_rps: expected a number from 0 to 1e+09, found \"\""},
      {"1,0,nan,1,Gamma,1,1", "rate_rps: expected a number from 0 to 1e+09, found \"nan\""},
      {"1,0,inf,1,Gamma,1,1", "rate_rps: expected a number from 0 to 1e+09, found \"inf\""},
      {"1,0,-1,1,Gamma,1,1", "rate_rps: expected a number from 0 to 1e+09, found \"-1\""},
      {"1,0,1e10,1,Gamma,1,1", "rate_rps: expected a number from 0 to 1e+09, found \"1e10\""},
      {"1,0,1e400,1,Gamma,1,1", "rate_rps: expected a number from 0 to 1e+09, found \"1e400\""},
      {"1,0,1 ,1,Gamma,1,1", "rate_rps: expected a number from 0 to 1e+09, found \"1 \""},
      {"1,0,1,-1,Gamma,1,1", "cv: expected a number from 0 to 1e+15, found \"-1\""},
      {"1,0,1,x,Gamma,1,1", "cv: expected a number from 0 to 1e+15, found \"x\""},
      {"1,0,1,1,gamma,1,1", "dist: expected Gamma or Weibull, found \"gamma\""},
      {"1,0,1,1,,1,1", "dist: expected Gamma or Weibull, found \"\""},
      {"1,0,1,1,Gamma,0,1", "param1: expected a number above 0 to 1e+15, found \"0\""},
      {"1,0,1,1,Gamma,nan,1", "param1: expected a number above 0 to 1e+15, found \"nan\""},
      {"1,0,1,1,Gamma,1,-1", "param2: expected a number above 0 to 1e+15, found \"-1\""},
      {"1,0,1,1,Gamma,1,1e16", "param2: expected a number above 0 to 1e+15, found \"1e16\""},
  };
  for (const Case& c : cases) {
    const Scratch scratch;
    const std::string path = scratch.file("r.csv", kHeader + "0,0,1,1,Gamma,1,1\n" + c.row + "\n");
    const InputError error = error_of([&] { read_rate_table(path); });
    CHECK(error.fault() == Fault::kTrace);
    CHECK(error.what() == path + ":3: " + c.says);
  }
}

TEST_CASE("malformed headers of arrival rates", "[traces]") {
  const auto says = [](const std::string& text) {
    const InputError error = error_of([&] { table_of(text); });
    CHECK(error.fault() == Fault::kTrace);
    return std::string(error.what());
  };
  CHECK_THAT(says("client,start_s,rate_rps,cv,dist,param1\n"),
             ContainsSubstring("rates.csv:1: header: missing column \"param2\""));
  CHECK_THAT(says("client,client,start_s,rate_rps,cv,dist,param1,param2\n"),
             ContainsSubstring("two columns \"client\""));
  CHECK_THAT(says("client,start_s,rate_rps,cv,dist,param1,param2,hue\n"),
             ContainsSubstring("unknown column \"hue\"; expected client, start_s, rate_rps"));
  CHECK_THAT(says(kHeader), ContainsSubstring("no rates; expected at least one row"));
  CHECK_THAT(says(""), ContainsSubstring("is no rate table"));
  CHECK_THAT(says("0,143400,0.07,1.1,Gamma,0.7,0.04\n"), ContainsSubstring("is no rate table"));
}

TEST_CASE("a rate table is no request trace, and says what to do", "[traces]") {
  const InputError error =
      error_of([] { test::open_bytes_as_trace(kHeader + "0,0,1,1,Gamma,1,1\n"); });
  CHECK(error.fault() == Fault::kTrace);
  CHECK_THAT(error.what(), ContainsSubstring("is a table of arrival rates, not of requests"));
  CHECK_THAT(error.what(), ContainsSubstring("trace generate --arrivals rates --rates FILE"));
}

TEST_CASE("only regular files are looked at for rates", "[traces]") {
  const Scratch scratch;
  CHECK(is_rate_table(scratch.file("r.csv.gz", test::gzip(kHeader))));
  CHECK_FALSE(is_rate_table(scratch.file("t.jsonl", test::good_row())));
  CHECK_FALSE(is_rate_table(scratch.file("empty", "")));
  CHECK_FALSE(is_rate_table("-"));
  CHECK_FALSE(is_rate_table("/dev/null"));
  CHECK_FALSE(is_rate_table(scratch.path("none")));
}

}  // namespace
}  // namespace spillway
