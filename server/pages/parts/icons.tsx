/** Icons as SVG stroke paths in a 24 × 24 box. */

const paths = {
  leaf: 'M5 19c0-9 5-14 15-14 0 10-5 15-13 14M5 19c2-5 5-8 9-9',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM20 20l-4-4',
  pen: 'M4 20l1-4L16 5l3 3L8 19ZM14 7l3 3',
  plus: 'M12 5v14M5 12h14',
  menu: 'M4 7h16M4 12h16M4 17h16',
  moon: 'M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5Z',
  right: 'M9 6l6 6-6 6',
  down: 'M12 4v11M7 10.5l5 5 5-5M5 20h14',
  move: 'M4 6h9M4 12h5M4 18h9M14 12h7M18 9l3 3-3 3',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 7v5l3.5 2',
  branch: 'M7 4v9M7 13a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM17 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM17 11c0 4-10 1-10 5',
  graph:
    'M6 8.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM18 10a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM9 20.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM8.5 6.3l7 .9M6.6 8.4l1.8 7.2M16.3 9.4l-5.6 6.8',
  globe: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18',
  lock: 'M6 11h12v9H6ZM9 11V8a3 3 0 0 1 6 0v3',
  copy: 'M9 9h11v11H9ZM5 15H4V4h11v1',
  file: 'M6 3h8l4 4v14H6ZM14 3v4h4',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  cross: 'M6 6l12 12M18 6L6 18',
  bell: 'M6 17V11a6 6 0 0 1 12 0v6l1.5 2h-15ZM10 21h4',
  comment: 'M4 5h16v11H10l-5 4v-4H4Z',
  eye: 'M2.5 12C6 5.5 18 5.5 21.5 12 18 18.5 6 18.5 2.5 12ZM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6Z',
  person: 'M12 11.5a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4.5 20.5c0-8 15-8 15 0',
  tag: 'M4 4h8.5l8 8-8.5 8.5-8-8ZM8 8h.01',
  undo: 'M9 14L4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3',
  more: 'M5.5 12a.75.75 0 1 0-1.5 0 .75.75 0 0 0 1.5 0ZM12.75 12a.75.75 0 1 0-1.5 0 .75.75 0 0 0 1.5 0ZM20 12a.75.75 0 1 0-1.5 0 .75.75 0 0 0 1.5 0Z',
  link: 'M10 14a4 4 0 0 0 5.7 0l3-3a4 4 0 0 0-5.7-5.7l-1 1M14 10a4 4 0 0 0-5.7 0l-3 3a4 4 0 0 0 5.7 5.7l1-1',
  heading: 'M6 4v16M18 4v16M6 12h12',
  bold: 'M7 4h6a4 4 0 0 1 0 8H7ZM7 12h7a4 4 0 0 1 0 8H7Z',
  italic: 'M10 4h8M6 20h8M14 4l-4 16',
  list: 'M9 6h11M9 12h11M9 18h11M4 6h.01M4 12h.01M4 18h.01',
  tasks: 'M3 6l2 2 3-4M3 16l2 2 3-4M12 6h9M12 17h9',
  quote: 'M10 7H5v6h5v-6c0 6-1 9-4 10M20 7h-5v6h5v-6c0 6-1 9-4 10',
  code: 'M8 7l-5 5 5 5M16 7l5 5-5 5M13.5 5l-3 14',
  table: 'M3 5h18v14H3ZM3 10h18M3 14.5h18M12 5v14',
  picture: 'M4 5h16v14H4ZM4 16l5-5 4 4 3-3 4 4M15 9h.01',
} as const

export type IconName = keyof typeof paths

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg class="i" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  )
}
