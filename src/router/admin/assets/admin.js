/** The admin page. Everything shown is set as text, never as markup. */

const byId = (id) => document.getElementById(id);
const kept = 'router-admin-token';
let tab = location.hash.slice(1) || 'status';
let range = '24h';
let timer;

/** An element with text or children. */
function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  if (options.class) element.className = options.class;
  if (options.title) element.title = options.title;
  element.append(...children.map((child) => (child instanceof Node ? child : String(child ?? ''))));
  return element;
}

async function call(path, body) {
  const answer = await fetch(path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${sessionStorage.getItem(kept) ?? ''}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const data = await answer.json().catch(() => ({ error: `The router answered ${answer.status}` }));
  if (answer.status === 401 || answer.status === 403) signOut(data.error);
  if (!answer.ok) throw new Error(data.error ?? `The router answered ${answer.status}`);
  return data;
}

function say(text) {
  byId('message').textContent = text ?? '';
}

function signOut(reason) {
  sessionStorage.removeItem(kept);
  clearTimeout(timer);
  for (const section of document.querySelectorAll('main > section')) section.hidden = true;
  byId('login').hidden = false;
  byId('leave').hidden = true;
  say(reason);
}

const number = new Intl.NumberFormat('en');
const percent = (value) => `${(100 * value).toFixed(1)} %`;
const time = (value) =>
  value === null || value === undefined ? '–' : `${value.toFixed(value < 10 ? 1 : 0)} ms`;

function bytes(count) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = count;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

function table(heads, rows) {
  const body = rows.map((cells) =>
    make(
      'tr',
      {},
      ...cells.map((cell) => (cell instanceof Node && cell.tagName === 'TD' ? cell : make('td', {}, cell))),
    ),
  );
  return make(
    'div',
    { class: 'scroll' },
    make(
      'table',
      {},
      make('thead', {}, make('tr', {}, ...heads.map((head) => make('th', {}, head)))),
      make('tbody', {}, ...body),
    ),
  );
}

const cell = (text) => make('td', { class: 'number' }, text);
const wide = (text) => make('td', { class: 'wide' }, text);

function card(title, value, note) {
  return make(
    'dl',
    { class: 'card' },
    make('dt', {}, title),
    make('dd', {}, value, ...(note ? [make('small', {}, note)] : [])),
  );
}

function action(label, work) {
  const button = make('button', {}, label);
  button.type = 'button';
  button.addEventListener('click', () =>
    work()
      .then(show)
      .catch((error) => say(error.message)),
  );
  return button;
}

const views = {
  async status() {
    const data = await call('/api/status');
    say(data.problems.join('; '));
    const { cache, gateways } = data;
    byId('status').replaceChildren(
      make(
        'div',
        { class: 'cards' },
        card(
          'Gateways',
          `${gateways.healthy} of ${gateways.total} healthy`,
          `${gateways.circuitOpen} left alone`,
        ),
        card(
          'Verification',
          data.verificationEnabled ? 'on' : 'off',
          `${data.verificationCount} gateways asked`,
        ),
        card(
          'Cache',
          bytes(cache.sizeBytes),
          `${number.format(cache.entries)} entries of ${bytes(cache.maxSizeBytes)}`,
        ),
        card(
          'Cache hits',
          percent(cache.hitRate),
          `${number.format(cache.hits)} hits, ${number.format(cache.misses)} misses`,
        ),
        card('Names known', number.format(data.names)),
        card('Mode', data.mode, `strategy: ${data.routingStrategy}`),
        card('Uptime', data.uptime, `version ${data.version}`),
        card('Domain', data.baseDomain),
      ),
    );
  },

  async gateways() {
    const data = await call('/api/gateways');
    byId('gateways').replaceChildren(
      table(
        ['Gateway', 'Health', 'Role', 'First byte', 'Errors', 'In flight', 'Last failure', ''],
        data.gateways.map((one) => [
          one.gateway,
          make('span', { class: one.state }, one.state),
          [one.routing && 'content', one.verification && 'verifier'].filter(Boolean).join(', '),
          cell(time(one.latencyMs)),
          cell(percent(one.errorRate)),
          cell(one.inFlight),
          wide(one.lastFailure ?? '–'),
          one.state === 'healthy'
            ? action('Quarantine', () => call('/api/gateways/quarantine', { gateway: one.gateway }))
            : action('Release', () => call('/api/gateways/release', { gateway: one.gateway })),
        ]),
      ),
    );
  },

  async telemetry() {
    const data = await call(`/api/telemetry?range=${range}`);
    for (const button of document.querySelectorAll('[data-range]')) {
      button.setAttribute('aria-selected', String(button.dataset.range === range));
    }
    if (!data.enabled) {
      say('Telemetry is off (TELEMETRY_ENABLED).');
      return;
    }
    byId('charts').replaceChildren(
      chart(
        'Requests per hour',
        data,
        (point) => point.requests,
        (value) => number.format(value),
      ),
      chart('Time to first byte', data, (point) => point.latencyMs, time),
      chart('Errors', data, (point) => point.errorRate, percent),
    );
    byId('figures').replaceChildren(
      table(
        ['Gateway', 'Requests', 'Success', 'Errors', 'p50', 'p95', 'p99', 'Bytes', 'Proven'],
        data.gateways.map((one) => [
          one.gateway,
          cell(number.format(one.totalRequests)),
          cell(percent(one.successRate)),
          cell(percent(one.errorRate)),
          cell(time(one.p50LatencyMs)),
          cell(time(one.p95LatencyMs)),
          cell(time(one.p99LatencyMs)),
          cell(bytes(one.bytesServed)),
          cell(one.gateway === 'cache' ? '–' : percent(one.verificationSuccessRate)),
        ]),
      ),
    );
  },

  async moderation() {
    const data = await call('/api/moderation');
    byId('block').hidden = !data.enabled;
    if (!data.enabled) {
      byId('blocklist').replaceChildren(
        'Moderation is off. Set MODERATION_ENABLED=true to use the blocklist.',
      );
      return;
    }
    byId('blocklist').replaceChildren(
      table(
        ['What', 'Value', 'Reason', 'By', 'Since', ''],
        data.entries.map((entry) => [
          entry.type === 'arns' ? 'name' : 'id',
          wide(entry.value),
          wide(entry.reason),
          entry.blockedBy,
          entry.blockedAt.slice(0, 16).replace('T', ' '),
          action('Unblock', () => call('/api/moderation/unblock', { type: entry.type, value: entry.value })),
        ]),
      ),
      make('h2', {}, 'Who did what'),
      table(
        ['When', 'Who', 'What', 'Value', 'Reason', 'Result'],
        data.audit.map((line) => [
          line.at.slice(0, 19).replace('T', ' '),
          line.who,
          line.action,
          wide(line.value ?? (line.given === undefined ? '' : JSON.stringify(line.given))),
          wide(line.notes ?? ''),
          wide(line.result),
        ]),
      ),
    );
  },

  async tools() {},

  async settings() {
    const data = await call('/api/config');
    byId('settings').replaceChildren(
      table(
        ['Variable', 'Value', 'Meaning'],
        data.variables.map((one) => [
          make('code', {}, one.name),
          wide(one.isDefault ? make('span', {}, one.value || '–') : make('strong', {}, one.value)),
          wide(one.meaning),
        ]),
      ),
    );
  },
};

const svg = (tag, attributes) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
};

/** One line per gateway over the hours; a single hour is drawn as a point. */
function chart(title, data, pick, format) {
  const series = data.series.slice(0, 6);
  const all = series.flatMap(({ points }) => points.map(pick)).filter((value) => value !== null);
  const top = Math.max(...all, 0) || 1;
  const width = Math.max(1, data.buckets.length - 1);
  const drawing = svg('svg', {
    viewBox: '0 0 100 40',
    preserveAspectRatio: 'none',
    role: 'img',
    'aria-label': title,
  });
  for (const y of [0, 20, 40]) drawing.append(svg('line', { x1: 0, y1: y, x2: 100, y2: y }));
  series.forEach(({ points }, index) => {
    const places = points.flatMap((point, at) => {
      const value = pick(point);
      return value === null ? [] : [[(100 * at) / width, 40 - (40 * value) / top]];
    });
    if (places.length === 1) places.push([Math.max(0, places[0][0] - 1), places[0][1]]);
    drawing.append(
      svg('polyline', { class: `s${index}`, points: places.map((place) => place.join(',')).join(' ') }),
    );
  });
  const legend = series.map(({ gateway }, index) => {
    const mark = svg('svg', { viewBox: '0 0 10 10' });
    mark.append(svg('circle', { cx: 5, cy: 5, r: 5, class: `s${index}` }));
    return make('span', {}, mark, gateway);
  });
  return make(
    'figure',
    {},
    make('figcaption', {}, `${title}, up to ${format(top)}`),
    drawing,
    make('div', { class: 'legend' }, ...legend),
  );
}

async function show() {
  clearTimeout(timer);
  if (sessionStorage.getItem(kept) === null) return signOut();
  if (!(tab in views)) tab = 'status';
  say('');
  try {
    await views[tab]();
    byId('login').hidden = true;
    byId('leave').hidden = false;
    for (const section of document.querySelectorAll('main > section')) section.hidden = section.id !== tab;
    for (const button of document.querySelectorAll('[data-tab]')) {
      button.setAttribute('aria-selected', String(button.dataset.tab === tab));
    }
  } catch (error) {
    say(error.message);
  }
  if (sessionStorage.getItem(kept) !== null && tab !== 'tools') timer = setTimeout(show, 10_000);
}

function onSubmit(id, work) {
  byId(id).addEventListener('submit', (event) => {
    event.preventDefault();
    work(new FormData(event.target), event.target).catch((error) => say(error.message));
  });
}

for (const button of document.querySelectorAll('[data-tab]')) {
  button.addEventListener('click', () => {
    tab = button.dataset.tab;
    history.replaceState(null, '', `#${tab}`);
    show();
  });
}
for (const button of document.querySelectorAll('[data-range]')) {
  button.addEventListener('click', () => {
    range = button.dataset.range;
    show();
  });
}
byId('leave').addEventListener('click', () => signOut());
onSubmit('login', async () => {
  sessionStorage.setItem(kept, byId('token').value.trim());
  byId('token').value = '';
  await show();
});
onSubmit('block', async (form, element) => {
  await call('/api/moderation/block', Object.fromEntries(form));
  element.reset();
  await show();
});
onSubmit('lookup', async (form) => {
  const { ballots } = await call(`/api/names/${encodeURIComponent(form.get('name'))}`);
  byId('ballots').replaceChildren(
    table(
      ['Verifier', 'Says'],
      ballots.map(({ gateway, vote }) => [gateway, wide(vote.id ?? vote.reason ?? 'points nowhere')]),
    ),
  );
});
onSubmit('purge', async (form) => {
  const { purged } = await call('/api/cache/purge', { id: form.get('id') });
  say(purged ? 'Purged.' : 'It was not in the cache.');
});
show();
