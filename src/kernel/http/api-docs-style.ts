/** The look of `/api-docs`: readable in daylight and in the dark, on a wide screen and on a narrow one. */
export const apiDocsStyle = `
:root { color-scheme: light dark; --ink: #1b2430; --soft: #5b6675; --line: #dfe4ea; --page: #fbfcfd; --card: #fff;
  --code: #f1f4f7; --get: #0f7a4f; --post: #1d5fbf; --put: #a15c00; --delete: #b3261e; --link: #1d5fbf; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #9aa6b5; --line: #2c3541; --page: #12171d;
  --card: #181f27; --code: #0f141a; --get: #4ccb94; --post: #7fb0ff; --put: #e9a94b; --delete: #ff8a80; --link: #7fb0ff; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
body { margin: 0; color: var(--ink); background: var(--page); font: 16px/1.55 system-ui, sans-serif; }
a { color: var(--link); text-decoration: none; }
a:hover, a:focus { text-decoration: underline; }
code, pre { font: 0.875rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { margin: 0.4rem 0 0; padding: 0.75rem 1rem; background: var(--code); border-radius: 8px; overflow-x: auto; }
.layout { display: grid; grid-template-columns: minmax(15rem, 20rem) minmax(0, 1fr); max-width: 84rem; margin: 0 auto; }
nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; padding: 2rem 1.25rem; }
nav h2 { margin: 1.25rem 0 0.35rem; font-size: 0.75rem; letter-spacing: 0.06em; text-transform: uppercase; color: var(--soft); }
nav ul { margin: 0; padding: 0; list-style: none; }
nav li { display: flex; gap: 0.5rem; align-items: baseline; padding: 0.1rem 0; }
nav a { color: var(--ink); overflow-wrap: anywhere; font-size: 0.85rem; }
main { padding: 2rem 1.5rem 6rem; border-left: 1px solid var(--line); min-width: 0; }
h1 { margin: 0; font-size: 1.9rem; line-height: 1.2; }
.about { color: var(--soft); margin: 0.5rem 0 2rem; }
section > h2 { margin: 2.5rem 0 0.75rem; font-size: 1.2rem; }
details { background: var(--card); border: 1px solid var(--line); border-radius: 10px; margin: 0.6rem 0; }
summary { display: flex; flex-wrap: wrap; gap: 0.35rem 0.75rem; align-items: baseline; padding: 0.7rem 1rem; cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary:focus-visible { outline: 2px solid var(--link); border-radius: 10px; }
summary code { font-weight: 600; overflow-wrap: anywhere; }
summary span:last-child { color: var(--soft); }
.method { font: 700 0.72rem/1 ui-monospace, Menlo, Consolas, monospace; min-width: 3.4rem; color: var(--soft); }
nav .method { min-width: 2.9rem; font-size: 0.65rem; }
.get { color: var(--get); } .post { color: var(--post); } .put, .patch { color: var(--put); } .delete { color: var(--delete); }
.body { padding: 0 1rem 1rem; border-top: 1px solid var(--line); }
h3 { margin: 1.1rem 0 0.3rem; font-size: 0.8rem; letter-spacing: 0.05em; text-transform: uppercase; color: var(--soft); }
table { width: 100%; border-collapse: collapse; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.75rem 0.4rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { font-weight: 600; color: var(--soft); }
td:first-child { white-space: nowrap; }
td pre, td p { margin: 0; }
td p + pre { margin-top: 0.4rem; }
@media (max-width: 56rem) { .layout { display: block; } nav { position: static; max-height: none; padding-bottom: 0; } main { border-left: 0; } }
`;
