#include <cmath>
#include <iostream>
#include <ranges>

#include <anabranch/anabranch.h>

#include "browser.h"
#include "io/matrix_files.h"
#include "support/catch.h"
#include "support/page_file.h"

// The report of a run as a browser shows it.
namespace anabranch {
namespace {

using browser_test::visit;
using browser_test::Visit;
using io_test::TemporaryDirectory;
using nlohmann::json;
using testing::PageFile;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const auto sums = [](auto row) { return sum(row); };

/// Items of 0 to 99 elements; number `bad` cannot be made.
auto made_items(int count, int bad = -1) {
  return std::views::iota(0, count) | std::views::transform([=](int i) {
           if (i == bad)
             throw std::domain_error("sensor <b>7</b> broke </script><script>document.title='!'</script>");
           Vector<double> item(Index{i % 100});
           for (std::int64_t k = 0; k < item.size(); ++k) item.set(k, static_cast<double>(k));
           return item;
         });
}

/// The page of a run of this program, which may fail.
template <class R>
std::string page_of(const R& computation, RunOptions options, RunReport* report = nullptr) {
  const TemporaryDirectory dir;
  options.report = dir / "r.html";
  try {
    run(computation, options, report);
  } catch (const std::exception&) {  // NOLINT: the page says what it was
  }
  return PageFile(dir / "r.html").text;
}

/// Of each plot its id, how many points it has, and how many of them lie where they can be seen.
const std::string points = R"js(
  const points = () => Object.fromEntries(anabranch.plots.map(plot => [plot.id, {
    rows: plot.dygraph.numRows(),
    series: plot.dygraph.numColumns() - 1,
    finite: plot.dygraph.rawData_.every(row => row.every(Number.isFinite)),
    painted: (() => {
      const canvas = plot.dygraph.hidden_, data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      let painted = 0;
      for (let i = 3; i < data.length; i += 4) painted += data[i] > 0;
      return painted;
    })(),
  }]));
)js";

const std::vector<std::string> all_plots{"size", "utilisation", "throughput", "memory", "times", "ring"};

}  // namespace

TEST_CASE("browser: what a page complains of is seen") {
  CHECK(visit("<!doctype html><body></body>", "return 1;").console.empty());
  CHECK(visit("<!doctype html><body><script>nobody()</script></body>", "return 1;").console.size() == 1);
  CHECK_THROWS_WITH(visit("<!doctype html><body></body>", "nobody();"),
                    Catch::Contains("nobody is not defined"));
}

TEST_CASE("page: loads without a complaint, with all plots, their points and the texts, light and dark") {
  RunReport report;
  const std::string page = page_of(consume(elements(map_seq(sums, stream_in(made_items(5000))))),
                                   {.threads = 2, .memory = 64 << 20, .scheduler = "fixed:50"}, &report);
  REQUIRE(report.chunks == 100);
  for (const bool dark : {false, true}) {
    INFO((dark ? "dark" : "light"));
    const Visit v = visit(page, points + R"js(
      return {points: points(), title: document.title, text: document.body.innerText,
              paper: getComputedStyle(document.body).backgroundColor,
              wide: document.documentElement.scrollWidth > document.documentElement.clientWidth};)js",
                          {.dark = dark});
    CHECK(v.console == std::vector<std::string>{});
    for (const std::string& id : all_plots) {
      INFO(id);
      const json& plot = v.found["points"].at(id);
      CHECK(plot["rows"] == 100);
      CHECK(plot["finite"] == true);
      CHECK(plot["painted"].get<int>() > 500);
    }
    CHECK(v.found["points"]["size"]["series"] == 2);
    CHECK(v.found["points"]["times"]["series"] == 4);
    CHECK(v.found["title"].get<std::string>().ends_with(": done"));
    const auto text = v.found["text"].get<std::string>();
    for (const char* part : {"Report of a run",
                             "done",
                             "5 k",
                             "5,000 items, 247,500 elements",
                             "in 100 chunks",
                             "fixed",
                             "The user chose this number of items.",
                             "at most 50 items",
                             "Chunk size",
                             "Utilisation",
                             "Throughput",
                             "Memory",
                             "Time of a chunk",
                             "Chunks in flight",
                             "segmented",
                             "stream_in",
                             "sum@report_page_test.cpp",
                             "64 MiB",
                             "Written by Anabranch 0.1.0",
                             "dygraphs"}) {
      INFO(part);
      CHECK(has(text, part));
    }
    CHECK(v.found["paper"] == (dark ? "rgb(17, 21, 27)" : "rgb(246, 247, 249)"));
    CHECK(v.found["wide"] == false);
  }
}

TEST_CASE("page: what is done in one plot is done in all, and the buttons do what they say") {
  const std::string page =
      page_of(consume(elements(map_seq(sums, stream_in(made_items(5000))))), {.scheduler = "fixed:50"});
  const Visit v = visit(page, R"js(
    const plots = Object.fromEntries(anabranch.plots.map(plot => [plot.id, plot]));
    const range = id => plots[id].dygraph.xAxisRange();
    const found = {};
    const whole = range('size');
    plots.memory.dygraph.updateOptions({dateWindow: [whole[0] + (whole[1] - whole[0]) / 4, whole[1]]});
    found.zoomed = anabranch.plots.every(plot => Math.abs(plot.dygraph.xAxisRange()[0] - range('memory')[0]) < 1e-9);
    found.narrower = range('size')[0] > whole[0];
    document.getElementById('all').click();
    found.whole = anabranch.plots.every(plot => plot.dygraph.xAxisRange()[0] <= whole[0] + 1e-9);

    // Pointing at a chunk.
    const area = plots.ring.dygraph.getArea(), box = plots.ring.dygraph.graphDiv.getBoundingClientRect();
    const at = new MouseEvent('mousemove', {bubbles: true, clientX: box.left + area.x + area.w / 2, clientY: box.top + area.y + area.h / 2});
    plots.ring.dygraph.mouseEventElement_.dispatchEvent(at);
    found.told = document.getElementById('told').textContent;
    found.selected = anabranch.plots.map(plot => plot.dygraph.getSelection());
    found.legend = document.querySelector('#plot-size .legend').textContent;

    // A logarithmic axis, and back.
    const button = document.querySelector('#plot-times button');
    found.before = [button.getAttribute('aria-pressed'), plots.times.dygraph.getOption('logscale')];
    button.click();
    found.after = [button.getAttribute('aria-pressed'), plots.times.dygraph.getOption('logscale')];

    // Light and dark.
    const look = () => [getComputedStyle(document.body).backgroundColor, plots.size.dygraph.getColors()[0]];
    found.looks = ['dark', 'light', 'auto'].map(theme => {
      document.querySelector(`[data-theme-choice=${theme}]`).click();
      return look();
    });
    document.querySelector('#decisions tr.clickable').click();
    found.decision = range('size');
    found.licence = document.querySelector('#licence pre').textContent;
    return found;)js");
  CHECK(v.console == std::vector<std::string>{});
  const json& found = v.found;
  CHECK(found["zoomed"] == true);
  CHECK(found["narrower"] == true);
  CHECK(found["whole"] == true);
  CHECK(has(found["told"], "50 items, "));
  CHECK(has(found["told"], "fixed"));
  const json chosen = found["selected"][0];
  CHECK(chosen.get<int>() > 0);
  CHECK(found["selected"] == json(std::vector<json>(6, chosen)));
  CHECK(has(found["legend"], "items 50"));
  CHECK(found["before"] == json{"false", false});
  CHECK(found["after"] == json{"true", true});
  CHECK(found["looks"][0][0] == "rgb(17, 21, 27)");
  CHECK(found["looks"][1][0] == "rgb(246, 247, 249)");
  CHECK(found["looks"][2] == found["looks"][1]);
  CHECK(found["looks"][0][1] != found["looks"][1][1]);
  CHECK(found["decision"][0].get<double>() < found["decision"][1].get<double>());
  CHECK(has(found["licence"], "Permission is hereby granted, free of charge"));
}

TEST_CASE("page: a run that failed says so, and its error is text whatever is in it") {
  const std::string page =
      page_of(consume(elements(map_seq(sums, stream_in(made_items(1000, 500))))), {.scheduler = "fixed:10"});
  const Visit v = visit(page, points + R"js(
    return {points: points(), title: document.title, error: document.getElementById('error').textContent,
            hidden: document.getElementById('error').hidden};)js");
  CHECK(v.console == std::vector<std::string>{});
  CHECK(has(v.found["error"],
            "The run failed: sensor <b>7</b> broke </script><script>document.title='!'</script>. "));
  CHECK(v.found["hidden"] == false);
  CHECK(v.found["title"].get<std::string>().ends_with(": failed"));
  for (const std::string& id : all_plots) CHECK(v.found["points"][id]["rows"] == 50);
}

TEST_CASE("page: a cancelled run; runs without chunks, without a stream, on the interpreter") {
  std::stop_source stop;
  const std::string cancelled =
      page_of(consume(elements(map_seq(sums, stream_in(made_items(1000))))),
              {.scheduler = "fixed:10", .stop = stop.get_token(), .progress = [&](const Progress& p) {
                 if (p.chunks == 20) stop.request_stop();
               }});
  const std::string probe = "return {text: document.body.innerText, plots: anabranch.plots.length};";
  Visit v = visit(cancelled, probe);
  CHECK(v.console == std::vector<std::string>{});
  CHECK(has(v.found["text"], "The run was cancelled."));
  CHECK(v.found["plots"] == 6);
  for (const auto& [page, sentence] : std::vector<std::pair<std::string, std::string>>{
           {page_of(consume(elements(produce(0, [](auto i) { return unit(i); }))), {}),
            "there is nothing to draw"},
           {page_of(sum(use(Vector<double>{1.0, 2.0})), {}), "This run read no stream."},
           {page_of(consume(elements(map_seq(sums, stream_in(made_items(20))))),
                    {.backend = Backend::interpreter}),
            "The interpreter takes items one by one"}}) {
    INFO(sentence);
    v = visit(page, probe);
    CHECK(v.console == std::vector<std::string>{});
    CHECK(has(v.found["text"], sentence));
    CHECK(v.found["plots"] == 0);
  }
}

TEST_CASE("page: several streams have a tab each; a long one says which chunks are recorded") {
  auto s = stream_in(made_items(400));
  const auto total = sum(consume(elements(map_seq(sums, s))));
  const auto both = consume(
      elements(map_seq([=](auto row) { return map([=](auto e) { return e + the(total); }, sum(row)); }, s)));
  Visit v = visit(page_of(both, {.scheduler = "fixed:40"}), points + R"js(
    const tabs = [...document.querySelectorAll('.tabs button')];
    const first = points();
    tabs[1].click();
    return {tabs: tabs.length, pressed: tabs[1].getAttribute('aria-pressed'), first, second: points(), plots: anabranch.plots.length};)js");
  CHECK(v.console == std::vector<std::string>{});
  CHECK(v.found["tabs"] == 2);
  CHECK(v.found["pressed"] == "true");
  CHECK(v.found["plots"] == 6);
  for (const char* which : {"first", "second"}) CHECK(v.found[which]["ring"]["rows"] == 10);

  RunReport report;
  const std::string page = page_of(consume(elements(produce(20'000, [](auto i) { return unit(i); }))),
                                   {.scheduler = "fixed:1"}, &report);
  v = visit(page, points + "return {points: points(), text: document.body.innerText};");
  CHECK(v.console == std::vector<std::string>{});
  for (const std::string& id : all_plots)
    CHECK(v.found["points"][id]["rows"] == report.stages.at(0).records.size());
  CHECK(has(v.found["text"], "Of 20,000 chunks "));
}

TEST_CASE("page: as wide as a phone, nothing is wider") {
  const std::string page =
      page_of(consume(elements(map_seq(sums, stream_in(made_items(5000))))), {.memory = 64 << 20});
  // A window cannot be that narrow: the page is looked at in a frame.
  std::string quoted;
  for (const char c : page)
    quoted += c == '"' ? std::string("&quot;") : c == '&' ? std::string("&amp;") : std::string(1, c);
  const std::string frame =
      "<!doctype html><body><iframe id=\"frame\" style=\"width:360px;height:3000px;border:0\" srcdoc=\"" +
      quoted + "\"></iframe></body>";
  const Visit v = visit(frame, R"js(
    const frame = document.getElementById('frame');
    while (!frame.contentWindow.anabranch) await new Promise(resolve => setTimeout(resolve, 50));
    const page = frame.contentDocument.documentElement;
    return {wide: page.scrollWidth, plots: [...frame.contentDocument.querySelectorAll('.plot')].map(plot => plot.getBoundingClientRect()).map(box => [box.left, box.right])};)js");
  CHECK(v.console == std::vector<std::string>{});
  CHECK(v.found["wide"] == 360);
  REQUIRE(v.found["plots"].size() == 6);
  for (const json& plot : v.found["plots"]) {
    CHECK(plot[0].get<double>() >= 0);
    CHECK(plot[1].get<double>() <= 360);
    CHECK(plot[1].get<double>() - plot[0].get<double>() > 300);
  }
}

}  // namespace anabranch
