/** Six linked pages about Grove, which a new organisation can begin with. */

import { v5 as idOf } from 'uuid'
import type { Api } from '../../spec/client/api.ts'
import { AppError } from '../base/errors.ts'
import { purpose } from '../base/purpose.ts'
import { connectionOf, linkNames } from './linking.ts'

interface ExamplePage {
  readonly title: string
  /** The title of the page above it. */
  readonly under?: string
  readonly tags: readonly string[]
  readonly text: string
}

const pages: readonly ExamplePage[] = [
  {
    title: 'Welcome to Grove',
    tags: ['example'],
    text: `Grove is the ${purpose.is}. ${purpose.keeps}

These six pages show what it does. Read them in any order, change what you like, and delete them when you have your own.

- [[Pages and links]]: how pages form a tree and a graph
- [[Writing in Markdown]]: what a text can contain
- [[Proposals]]: how several people change the same page
- [[History and Git]]: where every word is kept

> [!tip] Start here
> Open [[Proposals]] and mend the mistake that waits there. It takes a minute.

## Around this text

Next to each page, the left column has the tree. The right column has its headings, its links, and the pages that link to it. On a phone, they are above and below the text.

Press \`/\` to search and \`?\` for the other keys.
`,
  },
  {
    title: 'Pages and links',
    under: 'Welcome to Grove',
    tags: ['example'],
    text: `A page has a title and a text. It can be placed under another page, and it can link to any page.

## The tree

Each page is at the top or under another page. [[Writing in Markdown]] is under this one. A page may be under several pages, and then it appears in each place.

## Links

Type \`[[\` in the editor, then the first letters of a title. The link leads to that page, and that page lists yours under its backlinks: [[Welcome to Grove]] shows this one.

A link to a page that does not exist yet is dotted. Select it to write that page.

## Which one to use

| you want to | use |
|---|---|
| keep things in one place | the tree |
| show that one thing leads to another | a link |
| find everything of one kind | a tag |

[[The graph]] draws all of them.
`,
  },
  {
    title: 'Writing in Markdown',
    under: 'Pages and links',
    tags: ['example', 'writing'],
    text: `A text is Markdown: plain characters that say what a heading, a list or a link is. The preview shows how it will look.

## Common marks

| you type | it becomes |
|---|---|
| \`**bold**\` | **bold** |
| \`*italic*\` | *italic* |
| \`[[Proposals]]\` | [[Proposals]] |
| \`[[Proposals\\|how we decide]]\` | [[Proposals\\|how we decide]] |
| \`\` \`code\` \`\` | \`code\` |

## Lists

1. First gather the facts.
2. Then write the page.
   - Short sentences help.
   - So do examples.
3. Link to what you used.

## Callouts

> [!note] A note
> A callout is a quotation that begins with \`[!note]\`, \`[!tip]\` or \`[!warning]\`.

## Code

\`\`\`sh
git clone https://grove.example/git/ORGANISATION/PAGE.git
\`\`\`

Back to [[Pages and links]].
`,
  },
  {
    title: 'The graph',
    under: 'Pages and links',
    tags: ['example'],
    text: `All pages and their links form a graph. The button with three circles in the top bar draws it, with each page inside the page that it is under.

- Select a circle to see the page and its neighbours.
- Search for a title to find its circle.
- Without the drawing, the same pages are a list.

Links make the graph useful. A page that nobody links to is hard to find, so link to it from a page that people read, such as [[Welcome to Grove]].

See also [[Pages and links]].
`,
  },
  {
    title: 'Proposals',
    under: 'Welcome to Grove',
    tags: ['example', 'working together'],
    text: `A proposal is a change that others read before it counts. You write it in the editor like any other change.

## Try it

> [!warning] This sentence has a mistake
> A whale is the largest fish in the sea.

1. Press **Edit** above this text and correct the sentence.
2. Press **Propose changes** instead of **Save**.
3. Read your change. Words that went are red, and words that came are green.
4. Accept it. This page then has your words.

## Who may do what

| role | reads | proposes | edits | manages |
|---|---|---|---|---|
| reader | yes | | | |
| contributor | yes | yes | | |
| editor, maintainer | yes | yes | yes | |
| owner | yes | yes | yes | yes |

Comments belong to a proposal, on any of its lines. An owner can require that every change is a proposal: see *Settings*.

Afterwards, [[History and Git]] shows who wrote what.
`,
  },
  {
    title: 'History and Git',
    under: 'Welcome to Grove',
    tags: ['example', 'working together'],
    text: `Each page is its own Git repository. Saving a page makes a commit, and nothing is lost when somebody changes it.

## In the browser

- The line below the title says who changed the page last. It leads to the history.
- A version in the history shows its change word by word, and can be restored.
- *Authors* shows who wrote each paragraph.

## With Git

The clone URL is next to each text, under *Download or clone*. Clone it, commit, and push. A push follows the same rules as the editor, so a push to \`main\` may need a proposal: see [[Proposals]].

> [!note] Your way out
> A clone has the text, its files and the whole history. No export is needed to leave.

Back to [[Welcome to Grove]].
`,
  },
]

/**
 * Creates the pages in one batch. Their ids follow from the organisation's, so that a second request creates nothing.
 *
 * @throws AppError forbidden and other errors of createNodes
 */
export async function createExample(api: Api, org_id: string): Promise<void> {
  const ids = new Map(pages.map(({ title }) => [title, idOf(`example: ${title}`, org_id)]))
  const nodes = pages.map(({ title, under, tags, text }) => {
    const parent = under === undefined ? undefined : ids.get(under)
    const connections = linkNames(text).flatMap((name) => {
      const target = ids.get(name)
      return target === undefined ? [] : [connectionOf(name, 'links_to', target)]
    })
    return {
      ...{ id: ids.get(title) ?? '', title, tags: [...tags], text_content: text, message: 'Create the example' },
      ...(parent === undefined ? {} : { parents: [parent] }),
      connections,
    }
  })
  await api.createNodes({ path: { org_id }, body: { nodes } }).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code !== 'node_exists') throw error
  })
}
