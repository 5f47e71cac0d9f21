import { texts } from '../../texts.ts';

export default function NamesView() {
  return <h1 tabIndex={-1}>{texts.sections.names}</h1>;
}
