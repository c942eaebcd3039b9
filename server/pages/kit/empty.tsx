/** A page without entries: its purpose, a drawn example, and how to begin. */

import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from '../parts/icons.tsx'
import { Avatar } from '../parts/people.tsx'

/** Icon, words, quieter words, and the user who acts. */
type ExampleRow = readonly [icon: IconName, words: string, more: string, who?: string]

const examples = {
  pages: [
    ['file', 'Field guide', '12 subpages'],
    ['file', 'Blue whale', 'sea, mammals'],
    ['file', 'Krill', 'sea'],
  ],
  tags: [
    ['tag', 'sea', '12 pages'],
    ['tag', 'sea/deep', '4 pages'],
    ['tag', 'to check', '2 pages'],
  ],
  proposals: [
    ['branch', 'Say what whales eat', 'Blue whale · 2 comments', 'Mia'],
    ['branch', 'Correct the length of krill', 'Krill · 1 approval', 'Leo'],
    ['branch', 'Add a picture', 'Field guide', 'Mia'],
  ],
  acts: [
    ['plus', 'Mia created Blue whale', '', 'Mia'],
    ['pen', 'Leo edited Krill', '', 'Leo'],
    ['comment', 'Mia commented on a proposal for Krill', '', 'Mia'],
  ],
  inbox: [
    ['eye', 'Leo asked you for a review', 'Blue whale', 'Leo'],
    ['comment', 'Mia mentioned you', 'Krill', 'Mia'],
    ['pen', 'Leo changed a page that you follow', 'Field guide', 'Leo'],
  ],
  types: [
    ['list', 'Serves', 'a whole number, required'],
    ['tasks', 'Course', 'soup, main or sweet'],
    ['link', 'Author', 'a link to its writer'],
  ],
  webhooks: [
    ['pen', 'Page changed', 'to build.example.org, received'],
    ['check', 'Proposal merged', 'to build.example.org, received'],
    ['comment', 'Comment written', 'to chat.example.org, received'],
  ],
} as const satisfies Record<string, readonly ExampleRow[]>

interface EmptyProps {
  readonly example: keyof typeof examples
  /** A sentence: its purpose. */
  readonly children: ComponentChildren
  /** The link or button that begins it. Default: the visitor may not. */
  readonly begin?: ComponentChildren
}

export function Empty({ example, children, begin }: EmptyProps) {
  const rows: readonly ExampleRow[] = examples[example]
  return (
    <div class="nothing">
      <p>{children}</p>
      {begin}
      <p class="why" aria-hidden="true">
        For example:
      </p>
      <ul class="lines" aria-hidden="true">
        {rows.map(([icon, words, more, who]) => (
          <li>
            {who && <Avatar name={who} />}
            <span class="sign">
              <Icon name={icon} />
            </span>
            <div class="line">
              {words} <small>{more}</small>
            </div>
          </li>
        ))}
      </ul>
    </div>
  )
}
