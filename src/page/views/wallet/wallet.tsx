/** Who pays: the wallet in use, its credits, and every way to get, lend and understand them. */
import { navigate } from '../../app/location.ts';
import { Button } from '../../kit/button.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Tabs } from '../../kit/tabs.tsx';
import type { ViewProps } from '../../sections-view.ts';
import { texts } from '../../texts.ts';
