/** The router's own admin page, on its own port: the parts of the console that are the router's. */
import './style/main.css';
import './views/operator/operator.css';
import { render } from 'preact';
import { RouterAdmin } from './views/operator/router/admin.tsx';

const root = document.getElementById('app');
if (root !== null) render(<RouterAdmin />, root);
