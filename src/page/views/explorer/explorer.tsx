import { texts } from '../../texts.ts';

export default function ExplorerView() {
  return <h1 tabIndex={-1}>{texts.sections.explorer}</h1>;
}
