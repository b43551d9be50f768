//! The script of pages, in a real Chromium: it is given events, and the page is read back.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::grid::{HANSA, Scratch, hansa_ok, shipped};
use crate::skip::skip;

/// A Chromium of this machine: `$HANSA_CHROMIUM`, or one in `$PATH`.
fn chromium() -> Option<PathBuf> {
    if let Some(chosen) = std::env::var_os("HANSA_CHROMIUM") {
        return Some(chosen.into());
    }
    let folders = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let files = std::env::split_paths(&folders).flat_map(|folder| names.map(|name| folder.join(name)));
    files.into_iter().find(|path| path.is_file())
}

/// The lines that a test script says on a page; it has `send(text)`, and `press` and `drag` for a chart.
fn page_lines(chromium: &Path, page: &Path, script: &str) -> Vec<String> {
    in_window(chromium, page, script, 1400)
}

fn in_window(chromium: &Path, page: &Path, script: &str, width: u32) -> Vec<String> {
    let helpers = r#"
        const lines = [];
        const say = text => lines.push(String(text));
        const key = (svg, name, shiftKey) => svg.dispatchEvent(new KeyboardEvent('keydown', { key: name, shiftKey, bubbles: true, cancelable: true }));
        const point = (svg, type, share) => {
          const box = svg.getBoundingClientRect();
          const clientX = box.left + share * box.width, clientY = box.top + box.height / 2;
          svg.dispatchEvent(new PointerEvent(type, { clientX, clientY, pointerType: 'mouse', button: 0, bubbles: true }));
        };
        const column = (table, place) => [...table.tBodies[0].rows].filter(row => !row.hidden).map(row => row.cells[place].textContent);
        window.onerror = message => { say('ERROR ' + message); };
    "#;
    let end = "document.body.append(Object.assign(document.createElement('pre'), { id: 'told', textContent: lines.join('\\n') }));";
    let html = std::fs::read_to_string(page).unwrap();
    let guarded = format!("try {{ {script} }} catch (error) {{ say('ERROR ' + error.stack); }}");
    let tested = html.replacen("</body>", &format!("<script>{helpers}{guarded}{end}</script></body>"), 1);
    let path = page.with_extension("tested.html");
    std::fs::write(&path, tested).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg(format!("--window-size={width},2000"))
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", path.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = dom.split_once("<pre id=\"told\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let (lines, _) = lines.unwrap_or_else(|| panic!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    lines.replace("&nbsp;", " ").replace("&amp;", "&").lines().map(str::to_owned).collect()
}

/// A page of a run of this topology.
fn page_of(scratch: &Scratch, topology: &str) -> PathBuf {
    let out = scratch.path(topology);
    hansa_ok(&["run".into(), shipped(topology), "--inline".into(), "--quiet".into(), "--out".into(), out.clone()]);
    hansa_ok(&["report".into(), out.clone()]);
    out.join("report.html")
}

#[test]
fn tables_sort_and_filter_and_legends_switch_series() {
    let Some(chromium) = chromium() else { return skip("a Chromium") };
    let scratch = Scratch::new();
    let page = page_of(&scratch, "quickstart.toml");
    let lines = page_lines(
        &chromium,
        &page,
        r"
        const table = document.querySelector('#waits table'), waited = table.tHead.rows[0].cells[3];
        const before = column(table, 0).join();
        waited.click();
        say(waited.textContent + ' ' + waited.getAttribute('aria-sort') + ' ' + (column(table, 0).join() === before));
        const descending = column(table, 3).join();
        key(waited, 'Enter');
        say(waited.getAttribute('aria-sort') + ' ' + (column(table, 3).reverse().join() === descending));
        waited.click();
        say(waited.getAttribute('aria-sort') + ' ' + (column(table, 0).join() === before));
        const box = document.querySelector('#waits input');
        box.value = 'BOB';
        box.dispatchEvent(new Event('input'));
        say(column(table, 1).every(user => user === 'bob') + ' ' + (column(table, 1).length + ' of 12' === document.querySelector('#waits .tools span').textContent));
        const figure = document.querySelector('#utilisation'), entry = figure.querySelectorAll('.legend li')[1];
        entry.click();
        say([...figure.querySelectorAll('.off')].map(mark => mark.getAttribute('class')).join() + ' ' + entry.getAttribute('aria-pressed'));
        key(entry, ' ');
        say(figure.querySelectorAll('.off').length + ' ' + entry.getAttribute('aria-pressed'));
        const find = document.querySelector('header input');
        find.value = '49';
        find.dispatchEvent(new Event('input'));
        say([...document.querySelectorAll('.tasks .hit title')].every(title => /^task 49\./.test(title.textContent)));
        say(document.querySelectorAll('.tasks .hit').length > 0);
        ",
    );
    let expected = [
        "Waited descending true",
        "ascending true",
        "none true",
        "true true",
        "f1 off false",
        "0 true",
        "true",
        "true",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn charts_over_time_zoom_and_point_together() {
    let Some(chromium) = chromium() else { return skip("a Chromium") };
    let scratch = Scratch::new();
    let page = page_of(&scratch, "quickstart.toml");
    let script = r"
        const figure = document.querySelector('#utilisation'), svg = figure.querySelector('svg');
        const zooms = () => new Set([...document.querySelectorAll('.plot')].map(plot => plot.getAttribute('transform')));
        const axis = () => [...figure.querySelectorAll('.axis[data-time] text')].map(text => text.textContent);
        const whole = axis().join();
        say(document.querySelectorAll('.plot').length > 2);
        key(svg, '+');
        say(zooms().size + ' ' + [...zooms()][0]);
        say(axis().join() !== whole);
        key(svg, '0');
        say(zooms().size + ' ' + [...zooms()][0] + ' ' + (axis().join() === whole));
        point(svg, 'pointerdown', 0.3);
        point(svg, 'pointermove', 0.5);
        say(svg.querySelectorAll('.brush').length);
        point(svg, 'pointerup', 0.5);
        const [scale] = /matrix\((\S+)/.exec([...zooms()][0]).slice(1).map(Number);
        say(Math.abs(scale - (1266 - 78) / (0.2 * 1280)) < 1e-6 && svg.querySelectorAll('.brush').length === 0);
        key(svg, 'ArrowRight', true);
        say(zooms().size === 1 && Math.abs(/matrix\((\S+)/.exec([...zooms()][0])[1] - scale) < 1e-6);
        key(svg, 'Escape');
        // The values of the crosshair are those of the series at that step.
        point(svg, 'pointermove', (78 + 0.501 * 1188) / 1280);
        const marks = [...svg.querySelectorAll('[data-v]')].map(mark => mark.dataset.v.split(';')[160]);
        say(marks.join() === [...figure.querySelectorAll('.now')].map(now => now.textContent).join());
        const times = new Set([...document.querySelectorAll('text.cross')].map(text => text.textContent));
        say(times.size + ' ' + /^\d\d:\d\d:\d\d$/.test([...times][0]));
        point(svg, 'pointerleave', 0.5);
        say([...document.querySelectorAll('.now')].every(now => now.textContent === ''));
        // Zooming in never leaves the run.
        for (let times = 0; times < 60; times++) key(svg, '+');
        for (let times = 0; times < 200; times++) key(svg, 'ArrowRight', true);
        say(zooms().size === 1 && !/NaN|Infinity/.test([...zooms()][0] + axis().join()));
        ";
    let lines = page_lines(&chromium, &page, script);
    let expected = [
        "true",
        "1 matrix(2 0 0 1 -672 0)",
        "true",
        "1 null true",
        "1",
        "true",
        "true",
        "true",
        "1 true",
        "true",
        "true",
    ];
    assert_eq!(lines, expected);
}

/// The field below the links takes a number or a name; its job is shown in all charts and told in words.
#[test]
fn a_job_is_found_by_its_number_with_its_story() {
    let Some(chromium) = chromium() else { return skip("a Chromium") };
    let scratch = Scratch::new();
    let out = scratch.path("batch");
    let fewer = PathBuf::from("workload.0.jobs=100");
    let topology = shipped("batch.toml");
    hansa_ok(&[
        "run".into(),
        topology,
        "--inline".into(),
        "--quiet".into(),
        "--report".into(),
        "--set".into(),
        fewer,
        "--out".into(),
        out.clone(),
    ]);
    let lines = page_lines(
        &chromium,
        &out.join("report.html"),
        r"
        const box = document.querySelector('header input'), story = document.querySelector('.story');
        const gantt = document.querySelector('#gantt'), range = () => gantt.querySelector('.plot').getAttribute('transform');
        const type = text => { box.value = text; box.dispatchEvent(new Event('input')); };
        key(document.body, '/');
        say(document.activeElement === box);
        type('17');
        say(/^Job 17 of alice: submitted at .*, waited .*, started at .* on \d+ cores? \(.*\) of york, ended at .* after .*\.$/.test(story.textContent));
        say(gantt.querySelectorAll('.tasks .hit').length + ' ' + /^job 17 of/.test(gantt.querySelector('.tasks .hit title').textContent));
        key(box, 'Enter');
        const hit = gantt.querySelector('.tasks .hit path').getBoundingClientRect(), frame = gantt.querySelector('svg').getBoundingClientRect();
        say(range().startsWith('matrix(') + ' ' + gantt.contains(story) + ' ' + (hit.left > frame.left && hit.right < frame.right && hit.width > 50));
        type('99999');
        say(story.textContent + ' ' + gantt.contains(story));
        type('1,000');
        say(story.textContent);
        type('nobody');
        say(story.textContent);
        key(box, 'Escape');
        say(box.value + story.hidden + range());
        ",
    );
    let expected = [
        "true",
        "true",
        "1 true",
        "true true true",
        "no job 99999; jobs are 1 to 100 false",
        "no job 1000; jobs are 1 to 100",
        "no job is called “nobody”; jobs are 1 to 100",
        "truenull",
    ];
    assert_eq!(lines, expected);
}

/// Blocks have a colour in each grouping, and words that appear at once; those of a browser would come a second later.
#[test]
fn blocks_are_coloured_by_choice_and_tell_their_words_at_once() {
    let Some(chromium) = chromium() else { return skip("a Chromium") };
    let scratch = Scratch::new();
    let page = page_of(&scratch, "quickstart.toml");
    let lines = page_lines(
        &chromium,
        &page,
        r"
        const gantt = document.querySelector('#gantt'), svg = gantt.querySelector('svg'), tip = document.querySelector('#tip');
        const looks = () => new Set([...gantt.querySelectorAll('.tasks g')].map(block => getComputedStyle(block).fill)).size;
        const legends = () => [...gantt.querySelectorAll('.legend')].filter(list => getComputedStyle(list).display !== 'none').map(list => list.children.length);
        say(looks() + ' ' + legends());
        gantt.querySelector('input.by-wait').click();
        say((looks() === legends()[0]) + ' ' + (looks() > 2) + ' ' + legends().length);
        const block = gantt.querySelector('.tasks g'), words = block.querySelector('title').textContent;
        const at = block.getBoundingClientRect();
        const move = target => target.dispatchEvent(new PointerEvent('pointermove', { clientX: at.left + 1, clientY: at.top + 1, pointerType: 'mouse', bubbles: true }));
        move(block.querySelector('path'));
        say(tip.hidden + ' ' + (tip.textContent === words) + ' ' + block.querySelectorAll('title').length);
        move(svg);
        say(tip.hidden + ' ' + (block.querySelector('title').textContent === words) + ' ' + svg.querySelectorAll(':scope > title').length);
        ",
    );
    assert_eq!(lines, ["2 2", "true true 1", "false true 0", "true true 0"]);
}

/// Charts are drawn for a narrow screen: nothing lies beside it, and letters and dots keep their shape.
#[test]
fn charts_fit_into_a_narrow_screen() {
    let Some(chromium) = chromium() else { return skip("a Chromium") };
    let scratch = Scratch::new();
    let page = page_of(&scratch, "quickstart.toml");
    let script = r"
        say(document.documentElement.scrollWidth <= innerWidth);
        const shape = text => { const box = text.getBoundingClientRect(); return box.width / box.height / text.textContent.length; };
        const charts = [...document.querySelectorAll('.chart')], labels = [...document.querySelectorAll('.chart .axis text:not(.name)')];
        const seen = labels.filter(label => label.textContent.length > 1 && getComputedStyle(label).display !== 'none');
        say(charts.length > 3 && charts.every(chart => chart.getBoundingClientRect().right <= innerWidth));
        say(seen.length > 10 && seen.every(label => shape(label) > 0.2 && shape(label) < 0.9));
        const inside = label => { const box = label.getBoundingClientRect(), frame = label.closest('.chart').getBoundingClientRect(); return box.left >= frame.left - 1 && box.right <= frame.right + 6; };
        say(seen.filter(label => !inside(label)).map(label => label.textContent).join());
        const svg = document.querySelector('#utilisation svg');
        key(svg, '+');
        say(seen.filter(label => label.isConnected && label.closest('.plot')).every(label => shape(label) > 0.2 && shape(label) < 0.9));
        ";
    assert_eq!(in_window(&chromium, &page, script, 500), ["true", "true", "true", "", "true"]);
}

/// A chart that is saved stands alone: it is XML with literal colours and its legend, and without additions of the
/// script.
#[test]
fn a_saved_chart_is_a_picture_of_its_own() {
    let Some(chromium) = chromium() else { return skip("a Chromium") };
    let scratch = Scratch::new();
    let page = page_of(&scratch, "quickstart.toml");
    let script = r"
        let saved = '';
        URL.createObjectURL = blob => { saved = blob; return 'blob:none'; };
        window.Blob = class { constructor(parts) { this.text = parts.join(''); } };
        HTMLAnchorElement.prototype.click = function () { say(this.download); };
        const figure = document.querySelector('#utilisation');
        point(figure.querySelector('svg'), 'pointermove', 0.5);
        [...figure.querySelectorAll('.tools button')].find(button => button.textContent === 'SVG').click();
        const parsed = new DOMParser().parseFromString(saved.text, 'image/svg+xml');
        say(parsed.documentElement.nodeName + ' ' + parsed.querySelectorAll('parsererror').length);
        say(parsed.querySelectorAll('.cross').length + ' ' + parsed.querySelectorAll('[data-v]').length);
        const texts = [...parsed.querySelectorAll('text')].map(text => text.textContent);
        say(['york', 'durham', 'leeds'].every(site => texts.some(text => text.startsWith(site))));
        say(saved.text.includes('rgb(0, 114, 178)') + ' ' + /var\(|class=|<style/.test(saved.text));
        ";
    assert_eq!(page_lines(&chromium, &page, script), ["utilisation.svg", "svg 0", "0 3", "true", "true false"]);
}

#[test]
fn a_comparison_has_one_range_for_both_panels() {
    let Some(chromium) = chromium() else { return skip("a Chromium") };
    let scratch = Scratch::new();
    let [one, other] = ["easy", "fcfs"].map(|policy| {
        let out = scratch.path(policy);
        let setting = PathBuf::from(format!("site.york.scheduler={policy}"));
        let fewer = PathBuf::from("workload.0.jobs=100");
        hansa_ok(&[
            "run".into(),
            shipped("batch.toml"),
            "--inline".into(),
            "--quiet".into(),
            "--set".into(),
            setting,
            "--set".into(),
            fewer,
            "--out".into(),
            out.clone(),
        ]);
        out
    });
    let page = scratch.path("page.html");
    hansa_ok(&["compare".into(), one, other, "--page".into(), page.clone()]);
    let lines = page_lines(
        &chromium,
        &page,
        r"
        const figure = document.querySelector('#course'), svg = figure.querySelector('svg');
        key(svg, '+');
        say([...figure.querySelectorAll('.plot')].map(plot => plot.getAttribute('transform')).join('|'));
        key(svg, 'ArrowLeft');
        say([...figure.querySelectorAll('.now')].every(now => / · /.test(now.textContent)));
        figure.querySelectorAll('.legend li')[0].click();
        say(figure.querySelectorAll('.l0.off').length + ' ' + figure.querySelectorAll('.l1.off').length);
        // Ratios, differences with a sign and durations sort by size.
        const table = [...document.querySelectorAll('#metrics table')][0];
        const head = [...table.tHead.rows[0].cells].findIndex(cell => /B\s−\sA/.test(cell.textContent));
        table.tHead.rows[0].cells[head].click();
        const shown = column(table, head).map(text => Number(text.replace('−', '-').replace(/,/g, ''))).filter(number => !Number.isNaN(number));
        say(shown.every((number, place) => place === 0 || number <= shown[place - 1]));
        ",
    );
    assert_eq!(lines, ["matrix(2 0 0 1 -672 0)|matrix(2 0 0 1 -672 0)", "true", "2 0", "true"]);
}

#[test]
fn the_words_of_marks_are_reached_by_keyboard() {
    let Some(chromium) = chromium() else { return skip("a Chromium") };
    let scratch = Scratch::new();
    let page = page_of(&scratch, "workflow.toml");
    let lines = page_lines(
        &chromium,
        &page,
        r"
        const tip = document.querySelector('#tip'), svg = document.querySelector('#dag-0 svg');
        const titles = [...svg.querySelectorAll('.tasks title')].map(title => title.textContent);
        say(titles.length + ' ' + svg.tabIndex + ' ' + svg.getAttribute('role') + ' ' + tip.hidden);
        const now = () => document.activeElement.getAttribute('aria-label');
        key(svg, 'ArrowRight');
        say(tip.hidden + ' ' + (tip.textContent === titles[0]) + ' ' + (now() === titles[0]));
        // Keys arrive at the mark that has the focus.
        key(document.activeElement, 'ArrowDown');
        say(now() === titles[1] && document.querySelectorAll('svg [tabindex]').length === 1);
        key(document.activeElement, 'End');
        key(document.activeElement, 'ArrowRight');
        say(now() === titles[titles.length - 1]);
        key(document.activeElement, 'Home');
        key(document.activeElement, 'ArrowLeft');
        say(now() === titles[0]);
        const box = tip.getBoundingClientRect();
        say(box.left >= 0 && box.right <= innerWidth && box.width > 20);
        key(document.activeElement, 'Escape');
        say(tip.hidden + ' ' + (document.activeElement === svg));
        // In a chart over time, left and right move the crosshair, up and down go from mark to mark; Escape first hides
        // the words, then resets the range.
        const gantt = document.querySelector('#gantt svg'), range = () => gantt.querySelector('.plot').getAttribute('transform');
        key(gantt, '+');
        const zoomed = range();
        key(gantt, 'ArrowRight');
        say(tip.hidden + ' ' + gantt.querySelector('path.cross').getAttribute('d').startsWith('M'));
        key(gantt, 'ArrowDown');
        say(tip.hidden + ' ' + /^task /.test(now()));
        key(document.activeElement, 'Escape');
        say(tip.hidden + ' ' + (range() === zoomed));
        key(gantt, 'Escape');
        say(range());
        // A touch shows the words, too.
        svg.querySelector('.tasks g path').dispatchEvent(new MouseEvent('click', { bubbles: true }));
        say(tip.textContent === titles[0]);
        ",
    );
    let expected = [
        "21 0 group true",
        "false true true",
        "true",
        "true",
        "true",
        "true",
        "true true",
        "true true",
        "false true",
        "true true",
        "null",
        "true",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_sweep_shows_the_values_of_all_lines_at_a_place() {
    let Some(chromium) = chromium() else { return skip("a Chromium") };
    let scratch = Scratch::new();
    let topology = shipped("market-40.toml");
    let experiment = format!(
        "name = \"try\"\ntopology = {topology:?}\nmetrics = [\"value\"]\n[vary]\nworkload.0.jobs = [10, 20, 30]\n\
         market.policy = [\"fifo\", \"srtf\", \"pvr\", \"pv\", \"pvd\", \"edf\", \"lrtf\", \"random\", \"pvdsq\"]\n"
    );
    let experiment = scratch.file("try.toml", &experiment);
    let out = scratch.path("out");
    hansa_ok(&["sweep".into(), experiment, "--quiet".into(), "--out".into(), out.clone()]);
    let lines = page_lines(
        &chromium,
        &out.join("sweep.html"),
        r"
        const figure = document.querySelector('figure'), svg = figure.querySelector('svg[data-at]');
        const shown = () => [...figure.querySelectorAll('.now')].map(now => now.textContent);
        const expected = place => [...svg.querySelectorAll('[data-v]')].map(mark => mark.dataset.v.split(';')[place]);
        point(svg, 'pointermove', svg.dataset.at.split(' ')[2] / 1280 - 0.01);
        say(shown().length + ' ' + (shown().join() === expected(2).join()));
        key(svg, 'ArrowLeft');
        say(shown().join() === expected(1).join());
        point(svg, 'pointerleave', 0.5);
        say(shown().every(text => text === ''));
        // The first and the ninth line share a colour, but not their entries.
        const entries = figure.querySelectorAll('.legend li[role]');
        entries[8].click();
        const off = [...svg.querySelectorAll('.off')];
        say(entries.length + ' ' + (off.length > 0 && off.every(mark => mark.matches('.l0.dashed'))));
        ",
    );
    assert_eq!(lines, ["9 true", "true", "true", "9 true"]);
}

/// `docs/pictures/draw` draws the pictures of README.md and docs/. Fonts differ between machines, so the picture of a
/// page is judged by the text that it shows.
#[test]
fn pictures_of_the_docs_show_what_is_drawn_today() {
    let pictures = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures");
    let scratch = Scratch::new();
    let mut folders = vec![Path::new(HANSA).parent().unwrap().to_path_buf()];
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut draw = Command::new(pictures.join("draw"));
    draw.arg(scratch.path("")).env("PATH", std::env::join_paths(folders).unwrap()).stdin(Stdio::null());
    let output = draw.output().unwrap();
    let has_browser = chromium().is_some();
    let expected = if has_browser { 0 } else { 3 };
    assert_eq!(output.status.code(), Some(expected), "{}", String::from_utf8_lossy(&output.stderr));
    for name in ["mosaic.svg", "plans.svg", "report.txt"] {
        let [committed, drawn] = [pictures.join(name), scratch.path(name)].map(|path| std::fs::read(path).unwrap());
        assert!(committed == drawn, "docs/pictures/{name} is old: run docs/pictures/draw");
    }
    if !has_browser {
        return skip("a Chromium, for docs/pictures/report.png");
    }
    let size = |path: &Path| {
        let bytes = std::fs::read(path).unwrap();
        assert!(bytes.starts_with(b"\x89PNG"), "{}", path.display());
        bytes[16..24].to_vec()
    };
    assert_eq!(size(&pictures.join("report.png")), size(&scratch.path("report.png")), "width and height");
}
