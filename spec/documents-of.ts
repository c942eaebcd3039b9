/** Renders the documents of this folder as HTML, for the pages below `/docs` of a service. */
import { readFile } from 'node:fs/promises'
import MarkdownIt from 'markdown-it'
import { withTables } from './tables-of.ts'

/** The name of each page, below `/docs/`, by its file. */
const pages: Readonly<Record<string, string>> = {
  'README.md': 'guide',
  'errors.md': 'errors',
  'events.md': 'events',
  'git.md': 'git',
  'limits.md': 'limits',
  'permissions.md': 'permissions',
  'types.md': 'types',
}

/** Returns the Markdown of each file, with its tables from the catalogs. */
export async function readDocuments(here: (file: string) => URL): Promise<Record<string, string>> {
  const documents: Record<string, string> = {}
  for (const file of Object.keys(pages)) documents[file] = withTables(await readFile(here(file), 'utf8'))
  return documents
}

/** Returns JSON: title and HTML of each page, by its name. */
export function documentsOf(documents: Readonly<Record<string, string>>): string {
  const rendered = Object.entries(documents).map(([file, markdown]) => {
    const html = renderer().render(markdown.replaceAll(/^<!--.*-->\n+/gm, ''))
    return [pages[file], { title: /^# (.*)$/m.exec(markdown)?.[1] ?? '', html }]
  })
  return `${JSON.stringify(Object.fromEntries(rendered), null, 2)}\n`
}

function renderer() {
  const markdown = new MarkdownIt()
  const { rules } = markdown.renderer
  rules.heading_open = (tokens, at) => {
    const { tag = '' } = tokens[at] ?? {}
    return `<${tag} id="${anchorOf(tokens[at + 1]?.content ?? '')}">`
  }
  rules.link_open = (tokens, at, options, _env, self) => {
    const token = tokens[at]
    const href = linkTo(String(token?.attrGet('href') ?? ''))
    if (href === undefined) token?.attrs?.splice(0)
    else token?.attrSet('href', href)
    return self.renderToken(tokens, at, options)
  }
  return markdown
}

/** The anchor of a heading, as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

/** Undefined if the service does not serve the target. */
function linkTo(href: string): string | undefined {
  if (/^([a-z]+:|#)/.test(href)) return href
  if (href === 'openapi.yaml') return '../openapi.json'
  const [file = '', anchor] = href.split('#')
  const page = pages[file]
  return page && (anchor === undefined ? page : `${page}#${anchor}`)
}
