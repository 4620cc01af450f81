// What a document says by its tables: values, defaults, meaning and origins.
#include "scenarios/scenario/config/settings.hpp"

#include "tests/sim/input_error.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

constexpr Key kItemKeys[] = {required(aside(text_key("label", "A label."))),
                             number_key("weight", 0, 9, "A weight.", "1")};
const KeyTable kItem = kItemKeys;
constexpr Key kKnown[] = {size_key("memory", "A size.", "2GiB"),
                          rate_key("speed", "A rate.", "as fast as it goes"),
                          integer_key("count", 0, 9, "A count.", "count_of"),
                          list_of(object_key("items", kItem, "Items."))};

Settings read(std::string_view text) {
  return settings_of(JsonSource::from_text("s.json", text), kKnown);
}

TEST_CASE("values are as written, with defaults that are values", "[scenarios]") {
  CHECK(read("{}").values == json({{"memory", "2GiB"}}));
  CHECK(read(R"({"speed": "8Gbps", "count": null, "items": [{"label": "a"}]})").values ==
        json::parse(R"({"memory": "2GiB", "speed": "8Gbps",
                        "items": [{"label": "a", "weight": 1}]})"));
}

TEST_CASE("meanings are one for what says the same", "[scenarios]") {
  CHECK(read(R"({"memory": "2048MiB"})").meaning == read("{}").meaning);
  CHECK(read(R"({"speed": "8Gbps"})").meaning == read(R"({"speed": "1GB/s"})").meaning);
  const json one = read(R"({"items": [{"label": "a", "weight": 2}]})").meaning;
  CHECK(one.dump() == read(R"({"items": [{"label": "b", "weight": 2.0}]})").meaning.dump());
  CHECK(one != read(R"({"items": [{"label": "a", "weight": 3}]})").meaning);
}

TEST_CASE("origins are lines, options, or what holds in words", "[scenarios]") {
  JsonSource source = JsonSource::from_text("s.json", "{\n\"items\": [{\n\"label\": \"a\"}]}");
  source.set("count=3");
  CHECK(settings_of(source, kKnown).origins ==
        std::map<std::string, std::string>{
            {"count", "--set"}, {"items.0.label", "line 3"}, {"speed", "as fast as it goes"}});
}

}  // namespace
}  // namespace spillway::test
