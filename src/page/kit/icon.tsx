/** Small drawings in the colour of the text around them. They say nothing that a text beside them does not. */

const paths = {
  home: 'M3 11 12 4l9 7M5.5 9.5V20h13V9.5M10 20v-6h4v6',
  explorer: 'M12 3 4 7v10l8 4 8-4V7zM4 7l8 4 8-4M12 11v10',
  wallet: 'M4 7.5A2.5 2.5 0 0 1 6.5 5H18v3M4 7.5V17a2 2 0 0 0 2 2h14V8H5M16 13.5h.01',
  upload: 'M12 16V4M7 9l5-5 5 5M4 15v5h16v-5',
  names: 'M4 4h8l8.5 8.5-8 8L4 12zM8.5 8.5h.01',
  operator: 'M4 18a8 8 0 1 1 16 0M12 18l4-6M4 18h16',
  local: 'M9 3h6M10 3v6l-5.5 9.5A1.7 1.7 0 0 0 6 21h12a1.7 1.7 0 0 0 1.5-2.5L14 9V3M7.5 15h9',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5 21 21',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  done: 'M5 12.5 10 17.5 19 7',
  close: 'M6 6l12 12M18 6 6 18',
  menu: 'M4 7h16M4 12h16M4 17h16',
  light:
    'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6 7 7M17 17l1.4 1.4M5.6 18.4 7 17M17 7l1.4-1.4',
  dark: 'M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z',
  system: 'M4 5h16v11H4zM9 20h6M12 16v4',
  warn: 'M12 4 2.5 20h19zM12 10v5M12 17.5h.01',
  bad: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 8v5M12 16h.01',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5M12 8h.01',
  next: 'M9 5l7 7-7 7',
  down: 'M5 9l7 7 7-7',
  out: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  again: 'M20 11a8 8 0 1 0-2.3 6M20 5v6h-6',
  gift: 'M4 9h16v4H4zM6 13v7h12v-7M12 9v11M12 9C9 9 7 8 7 6s3-2 5 3c2-5 5-5 5-3s-2 3-5 3z',
  card: 'M3 6h18v12H3zM3 10h18M7 14.5h4',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 21a7.5 7.5 0 0 1 15 0',
  keyboard: 'M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M7 14h10',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 20 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" width={size} height={size} aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
