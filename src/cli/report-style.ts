/** The style of report.html: one column that becomes two where there is room; light and dark by the reader's own setting; text at 4.5 to 1 or more. */

export const REPORT_STYLE = `
:root {
  color-scheme: light dark;
  --ground: #ffffff; --panel: #f5f6f8; --line: #d5d9e0; --grid: #e3e6eb;
  --text: #1b1f26; --soft: #515a67; --link: #1a56b0;
  --plain: #5b78a8; --good: #2f8f5b; --move: #3f7fd0; --bad: #c8553d; --quiet: #9aa3b0;
  --ok: #16683f; --wrong: #a52a14;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171c; --panel: #1d2128; --line: #363d48; --grid: #2a303a;
    --text: #e6e9ee; --soft: #a6afbd; --link: #86b4f5;
    --plain: #7e9bcb; --good: #4fb57d; --move: #6aa2ea; --bad: #e5765d; --quiet: #6d7786;
    --ok: #6fce9a; --wrong: #ff9c86;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--text); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main, header, footer { max-width: 1180px; margin: 0 auto; padding: 0 20px; }
header { padding-top: 28px; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 6px; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 40px 0 4px; }
h3 { font-size: 1rem; margin: 22px 0 0; }
p { margin: 6px 0; max-width: 85ch; }
.soft, .note, .empty, footer { color: var(--soft); }
.note { display: block; font-weight: 400; font-size: .8rem; line-height: 1.35; }
.ok { color: var(--ok); } .wrong { color: var(--wrong); font-weight: 600; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(155px, 1fr)); gap: 10px; margin: 20px 0 0; padding: 0; list-style: none; }
.tiles li { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
.tiles b { display: block; font-size: 1.35rem; line-height: 1.25; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.tiles span { color: var(--soft); font-size: .85rem; }
.pair { display: grid; grid-template-columns: minmax(0, 1fr); gap: 10px 44px; align-items: start; }
@media (min-width: 900px) { .pair { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
figure { margin: 14px 0 8px; min-width: 0; }
.curve figcaption, caption { font-weight: 600; text-align: left; padding: 0 0 6px; }
.frame { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 4px 8px; }
.frame svg { display: block; width: 100%; height: 170px; border-bottom: 1px solid var(--line); overflow: visible; }
.axis-y { display: flex; flex-direction: column; justify-content: space-between; text-align: right; min-width: 3.2em; margin: -0.6em 0; }
.axis-x { grid-column: 2; display: flex; justify-content: space-between; }
.axis-x, .axis-y { color: var(--soft); font-size: .8rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
.grid { stroke: var(--grid); stroke-width: 1; vector-effect: non-scaling-stroke; }
.mark { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 3 3; vector-effect: non-scaling-stroke; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; vector-effect: non-scaling-stroke; }
.area { opacity: .18; stroke: none; }
.tone-plain { fill: var(--plain); stroke: var(--plain); background: var(--plain); }
.tone-good { fill: var(--good); stroke: var(--good); background: var(--good); }
.tone-move { fill: var(--move); stroke: var(--move); background: var(--move); }
.tone-bad { fill: var(--bad); stroke: var(--bad); background: var(--bad); }
.tone-quiet { fill: var(--quiet); stroke: var(--quiet); background: var(--quiet); }
rect { stroke: none; }
path.line { fill: none; } path.area { stroke: none; }
.ground { fill: var(--panel); }
.whole .title { font-weight: 600; margin: 0 0 6px; }
.whole svg { display: block; width: 100%; height: 22px; border-radius: 4px; }
.legend { list-style: none; margin: 8px 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: 2px 18px; font-size: .9rem; }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .45em; }
table { border-collapse: collapse; width: 100%; margin: 14px 0 8px; font-size: .92rem; }
th, td { padding: 3px 10px 3px 0; text-align: left; vertical-align: top; font-weight: 400; border-bottom: 1px solid var(--grid); }
thead th { color: var(--soft); font-size: .8rem; border-bottom: 1px solid var(--line); }
tfoot th, tfoot td { font-weight: 600; border-bottom: none; border-top: 1px solid var(--line); }
th[scope=row] { overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bars th[scope=row] { width: 46%; }
.bars td.bar { width: 34%; padding-right: 0; }
.bars svg { display: block; width: 100%; height: .85em; margin-top: .35em; border-radius: 2px; }
.scroll { overflow-x: auto; max-height: 26rem; overflow-y: auto; border: 1px solid var(--line); border-radius: 6px; padding: 0 10px; margin-top: 8px; }
.scroll td, .scroll th { white-space: nowrap; padding-right: 18px; }
.law { font-variant-numeric: tabular-nums; margin-top: 14px; }
details { margin: 8px 0; } summary { cursor: pointer; color: var(--link); font-size: .9rem; }
summary:focus-visible, .scroll:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.exceptions li { overflow-wrap: anywhere; max-width: 85ch; }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .92em; overflow-wrap: anywhere; }
footer { padding-top: 36px; padding-bottom: 48px; font-size: .85rem; }
@media (max-width: 520px) { main, header, footer { padding-left: 14px; padding-right: 14px; } .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
@media print { details > * { display: block; } .scroll { max-height: none; } }
`;
