import './style/main.css';
import './views/explorer/explorer.css';
import { render } from 'preact';
import { followLinks } from './app/location.ts';
import { Shell } from './app/shell.tsx';
import { sectionOf, sections } from './sections.ts';
import { readSettings, settings } from './services/settings.ts';

await readSettings();
followLinks();
const shown = sections.filter(({ localOnly }) => localOnly !== true || settings().controlsLocalNetwork);
const root = document.getElementById('app');
if (root !== null) render(<Shell sections={shown} sectionOf={sectionOf} />, root);
