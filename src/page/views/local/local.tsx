import { texts } from '../../texts.ts';

export default function LocalView() {
  return <h1 tabIndex={-1}>{texts.sections.local}</h1>;
}
