/** Links of the pages of this repository lead to files and headings that are there; scripts that they name exist. */

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { purpose } from '../../server/base/purpose.ts'
import document from '../../spec/openapi.json' with { type: 'json' }

describe('the pages of this repository', () => {
  let pages: Map<string, string>

  before(async () => {
    const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '*.md'])
    const names = listed
      .toString()
      .split('\0')
      .filter((name) => name !== '' && existsSync(name))
    pages = new Map(await Promise.all(names.map(async (name) => [name, await readFile(name, 'utf8')] as const)))
  })

  it('say in one sentence what Grove is, as package.json, the spec and the code do', async () => {
    const { description } = JSON.parse(await readFile('package.json', 'utf8'))
    for (const text of [pages.get('README.md') ?? '', description, document.info.description]) {
      expect(text.toLowerCase()).to.include(`the self-hosted ${purpose.is}`)
      expect(text.replace(/\s+/g, ' ')).to.include(purpose.keeps)
    }
    expect(document.info.summary).to.equal(`The self-hosted ${purpose.is}.`)
  })

  it('link to files and headings that are there', () => {
    const broken: string[] = []
    for (const [name, text] of pages)
      for (const [, address = ''] of withoutCode(text).matchAll(/\]\((?![a-z]+:)([^)]+)\)/g)) {
        const [path = '', heading] = address.split('#')
        const target = path === '' ? name : join(dirname(name), path)
        const found = heading === undefined ? existsSync(target) : anchors(pages.get(target)).includes(heading)
        if (!found) broken.push(`${name}: ${address}`)
      }
    expect(broken).to.deep.equal([])
  })

  it('are linked from the README or CONTRIBUTING.md, or from a page that these lead to', () => {
    // A forge shows CONTRIBUTING.md to those who open a pull request.
    const reached = new Set(['README.md', 'CONTRIBUTING.md'])
    for (const name of reached)
      for (const [, path = ''] of withoutCode(pages.get(name) ?? '').matchAll(/\]\((?![a-z]+:)([^)#]+\.md)[^)]*\)/g))
        reached.add(join(dirname(name), path))
    const unlinked = [...pages.keys()].filter((name) => name.endsWith('README.md') && !reached.has(name))
    expect(unlinked).to.deep.equal([])
  })

  it('name source files that are there', () => {
    const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard']).toString().split('\n')
    const missing: string[] = []
    for (const [page, text] of pages)
      for (const [, name = ''] of withoutBlocks(text).matchAll(/`([\w./-]+\.(?:ts|tsx|js|cjs))`/g))
        if (!name.startsWith('dist/') && !files.some((file) => `/${file}`.endsWith(`/${name}`)))
          missing.push(`${page}: ${name}`)
    // The reader of CONTRIBUTING.md writes that file.
    expect(missing).to.deep.equal(['CONTRIBUTING.md: test/nodes/titles.test.ts'])
  })

  it('name scripts of package.json', async () => {
    const { scripts } = JSON.parse(await readFile('package.json', 'utf8'))
    const missing: string[] = []
    for (const [page, text] of pages)
      for (const [, name = ''] of text.matchAll(/npm (?:run (?:-s )?)?(?!(?:ci|run|pack|i|install|root)\b)([\w:]+)/g))
        if (page.endsWith('README.md') && !(name in scripts)) missing.push(`${page}: npm run ${name}`)
    expect(missing).to.deep.equal([])
  })
})

function withoutBlocks(markdown: string): string {
  return markdown.replaceAll(/^```[\s\S]*?^```$/gm, '')
}

function withoutCode(markdown: string): string {
  return withoutBlocks(markdown).replaceAll(/`[^`\n]*`/g, (code) => code.replace('](', ']'))
}

/** Of the headings of a page, as GitHub makes them. */
function anchors(markdown = ''): string[] {
  return [...withoutBlocks(markdown).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
