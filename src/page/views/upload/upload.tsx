import { texts } from '../../texts.ts';

export default function UploadView() {
  return <h1 tabIndex={-1}>{texts.sections.upload}</h1>;
}
