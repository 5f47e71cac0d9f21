import { pageColours } from '../../../kernel/http/page/page.ts';

/** The look of the checkout page; one file, nothing fetched. */
export const style = `${pageColours}.checkout { min-height: 100vh; display: grid; grid-template-columns: 1fr 1fr; }
.order { background: var(--side); padding: 4rem 4rem 2rem; display: flex; justify-content: flex-end; }
.pay { padding: 4rem 4rem 2rem; }
.order > div, .pay > div { width: 100%; max-width: 26rem; }
.badge { display: inline-block; font-size: .75rem; font-weight: 600; letter-spacing: .02em;
  color: var(--note); background: var(--note-ground); border-radius: .3rem; padding: .1rem .5rem; }
.back { display: inline-flex; gap: .5rem; align-items: center; margin-bottom: 1.5rem; color: var(--soft);
  text-decoration: none; font-size: .9rem; }
.back:hover { color: var(--ink); text-decoration: underline; }
.what { margin: 1rem 0 0; color: var(--soft); font-size: 1rem; font-weight: 500; }
.total { margin: 0; font-size: 2.25rem; font-weight: 650; letter-spacing: -.02em; font-variant-numeric: tabular-nums; }
.items { list-style: none; margin: 2rem 0 0; padding: 0; border-top: 1px solid var(--line); }
.items li { display: flex; justify-content: space-between; gap: 1.5rem; padding: 1rem 0; border-bottom: 1px solid var(--line); }
.items p { margin: 0; }
.items .details { color: var(--soft); font-size: .875rem; overflow-wrap: anywhere; margin-top: .15rem; }
.items .price { font-variant-numeric: tabular-nums; white-space: nowrap; font-weight: 500; }
h2 { margin: 0 0 1.25rem; font-size: 1.25rem; font-weight: 600; }
label { display: block; font-size: .875rem; font-weight: 500; margin-bottom: .3rem; }
.field { margin-bottom: 1rem; }
.row { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
input { width: 100%; font: inherit; color: inherit; background: var(--field); border: 1px solid var(--line);
  border-radius: .45rem; padding: .6rem .75rem; }
input::placeholder { color: var(--soft); opacity: .75; }
input:focus-visible, button:focus-visible, a:focus-visible, summary:focus-visible {
  outline: 2px solid var(--focus); outline-offset: 2px; }
input[aria-invalid="true"] { border-color: var(--bad); }
.wrong { margin: .3rem 0 0; font-size: .85rem; color: var(--bad); }
.alert { margin: 0 0 1.25rem; padding: .75rem 1rem; border-radius: .45rem; color: var(--bad);
  background: var(--bad-ground); border-left: 3px solid var(--bad); font-weight: 500; }
.alert:focus { outline: none; }
.submit { width: 100%; margin-top: .5rem; font: inherit; font-weight: 600; color: var(--accent-ink);
  background: var(--accent); border: 0; border-radius: .45rem; padding: .75rem 1rem; cursor: pointer; }
.submit:hover { filter: brightness(1.07); }
.submit[disabled] { opacity: .6; cursor: progress; }
.fine { margin-top: 1rem; color: var(--soft); font-size: .8rem; }
details { margin-top: 1.5rem; border: 1px solid var(--line); border-radius: .45rem; padding: .6rem .9rem; }
summary { cursor: pointer; font-size: .875rem; font-weight: 500; }
table { width: 100%; border-collapse: collapse; margin-top: .6rem; font-size: .825rem; }
td { padding: .3rem 0; border-top: 1px solid var(--line); vertical-align: baseline; }
td:first-child { padding-right: .75rem; white-space: nowrap; font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .8rem; }
.use { display: none; font: inherit; color: var(--accent); background: none; border: 0; padding: 0; cursor: pointer; text-decoration: underline; }
.scripted .use { display: inline; }
.message { min-height: 100vh; display: grid; place-items: center; padding: 2rem; text-align: center; }
.message div { max-width: 26rem; }
.message h1 { font-size: 1.5rem; margin: 0 0 .5rem; }
.message a { color: var(--accent); font-weight: 600; }
.message p { color: var(--soft); margin: 0 0 1.5rem; }
.embedded .checkout { display: block; min-height: 0; }
.embedded .order, .embedded .pay { padding: 1.5rem; display: block; }
.embedded .order > div, .embedded .pay > div { margin: 0 auto; }
@media (max-width: 820px) {
  .checkout { display: block; min-height: 0; }
  .order, .pay { padding: 2rem 1.25rem; justify-content: center; }
  .order > div, .pay > div { margin: 0 auto; }
}
`;
