import { texts } from '../../texts.ts';

export default function HomeView() {
  return <h1 tabIndex={-1}>{texts.sections.home}</h1>;
}
