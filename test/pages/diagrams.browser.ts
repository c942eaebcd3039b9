/** Diagrams of Mermaid: drawn in a sandbox when they come into view, and nothing in them runs. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { ann, expectSound, grove, newVisitor, useScene, type Visitor } from './scene.ts'

const marker = 'ranAnything'
const run = `window.${marker}=1;top.${marker}=1;parent.${marker}=1`
const fence = (source: string) => `\`\`\`mermaid\n${source}\n\`\`\`\n\n`

const kinds: Readonly<Record<string, string>> = {
  flowchart: 'flowchart LR\n  accTitle: How krill is eaten\n  A[Krill] -->|is eaten by| B{Whale?}\n  B --> C[(Sea)]',
  sequence: 'sequenceDiagram\n  Ann->>Bob: Hello\n  Note right of Bob: thinks\n  Bob-->>Ann: Hi',
  class: 'classDiagram\n  Animal <|-- Whale\n  Whale : +int length',
  state: 'stateDiagram-v2\n  [*] --> Still\n  Still --> Moving',
  pie: 'pie title Food\n  "Krill" : 80\n  "Fish" : 20',
  gantt: 'gantt\n  title Plan\n  dateFormat YYYY-MM-DD\n  section A\n  One :a1, 2026-01-01, 30d',
  entities: 'erDiagram\n  WHALE ||--o{ KRILL : eats',
  git: 'gitGraph\n  commit\n  branch b\n  commit',
  mindmap: 'mindmap\n  root((Sea))\n    Whales\n    Krill',
  timeline: 'timeline\n  title Years\n  2024 : One\n  2025 : Two',
}

const hostile: Readonly<Record<string, string>> = {
  'HTML in a label': `flowchart LR\n  A["<img src=x onerror='${run}'>"] --> B["<script>${run}</script>"]`,
  'a script in a link': `flowchart LR\n  A --> B\n  click A "javascript:${run}"\n  click B call alert()`,
  'a directive for security': `%%{init: {"securityLevel": "loose", "htmlLabels": true, "flowchart": {"htmlLabels": true}}}%%\nflowchart LR\n  A["<b onclick='${run}'>b</b><iframe srcdoc='<script>${run}</script>'></iframe>"]`,
  'a front matter': `---\nconfig:\n  securityLevel: loose\n  themeCSS: "* { background: url(https://evil.example/x) }"\n---\nflowchart LR\n  A --> B`,
  'styles that load': `%%{init: {"themeCSS": "@import url(https://evil.example/x.css); svg { background: url(https://evil.example/y) }"}}%%\nflowchart LR\n  A:::x --> B\n  classDef x fill:url(https://evil.example/z)`,
  'a picture of another host': 'flowchart LR\n  A@{ img: "https://evil.example/x.png", label: "x" }',
  'an end of the SVG': `flowchart LR\n  A["</text></svg><script>${run}</script>"]`,
  math: `flowchart LR\n  A["$$x^2 \\\\href{javascript:${run}}{y}$$"]`,
}

describe('diagrams', () => {
  useScene()

  const aPage = async (title: string, text_content: string) => {
    const { id: org } = await made(ann.post('/orgs', { name: title, published: true }))
    const { id } = await made(ann.post(`/orgs/${org}/nodes`, { title, text_content }))
    return pageAt(org, id)
  }
  /** Scrolls to each diagram, and waits until it is drawn or has an error. */
  const outcomes = async ({ page }: Visitor) => {
    const found: { label: string | null; error: string | null; width: number }[] = []
    for (const figure of await page.locator('figure.diagram').all()) {
      await figure.scrollIntoViewIfNeeded()
      await figure.locator('.drawing img, .why').first().waitFor({ timeout: 60_000 })
      const image = figure.locator('.drawing img')
      const isDrawn = (await image.count()) > 0
      if (isDrawn)
        await page.waitForFunction(() =>
          [...document.querySelectorAll<HTMLImageElement>('.drawing img')].every((one) => one.complete),
        )
      found.push({
        label: isDrawn ? await image.getAttribute('alt') : null,
        error: isDrawn ? null : await figure.locator('.why').textContent(),
        width: isDrawn ? await image.evaluate((one) => Number(Reflect.get(one, 'naturalWidth'))) : 0,
      })
    }
    return found
  }

  it('of each kind are drawn, with a label, and their sources stay', async () => {
    const visitor = await newVisitor()
    const { page, open, faults } = visitor
    await open(await aPage('Kinds', Object.values(kinds).map(fence).join('Text.\n\n')))
    const found = await outcomes(visitor)
    expect(found.map(({ error }) => error)).to.deep.equal(Object.keys(kinds).map(() => null))
    expect(found.filter(({ width }) => width === 0)).to.deep.equal([])
    expect(found[0]?.label).to.equal('How krill is eaten. Its source follows.')
    expect(await page.locator('figure.diagram details:not([open]) code').allTextContents()).to.deep.equal(
      Object.values(kinds).map((source) => `${source}\n`),
    )
    await expectSound(page)
    await page.setViewportSize({ width: 390, height: 800 })
    await expectSound(page)
    expect(faults).to.deep.equal([])
    await visitor.context.close()
  })

  it('run nothing and load nothing of what is in them', async () => {
    const visitor = await newVisitor()
    const { page, open, faults } = visitor
    const refused = new Set<string>()
    page.on('requestfailed', (request) => {
      // The policy of the frame refuses it before it is sent.
      if (request.failure()?.errorText === 'csp') refused.add(`a request to ${request.url()}`)
    })
    await open(await aPage('Hostile', Object.values(hostile).map(fence).join('')))
    const found = await outcomes(visitor)
    expect(found).to.have.length(Object.keys(hostile).length)
    expect(await page.evaluate(`window.${marker}`)).to.equal(undefined)
    for (const frame of page.frames()) expect(await frame.evaluate(`window.${marker}`), frame.url()).to.equal(undefined)
    const isRefusal = (fault: string) => refused.has(fault) || /violates the following Content Security/.test(fault)
    expect(faults.filter((fault) => !isRefusal(fault))).to.deep.equal([])
    await visitor.context.close()
  })

  it('say an error, are not drawn beyond their limits, and are text without script', async () => {
    const text = `${fence('flowchart LR\n  A --> ')}${fence(`flowchart LR\n  A[${'x'.repeat(20_000)}]`)}`
    const path = await aPage('Errors', text + fence('pie\n "a" : 1').repeat(20))
    const visitor = await newVisitor()
    await visitor.open(path)
    const found = await outcomes(visitor)
    expect(found[0]?.error).to.match(/^This diagram could not be drawn: Parse error on line \d/)
    expect(found[1]?.error).to.equal('This diagram is not drawn, because its source has over 20,000 characters.')
    expect(found.slice(2).map(({ error }) => error)).to.deep.equal([
      ...Array(18).fill(null),
      ...Array(2).fill('Only the first 20 diagrams of a page are drawn.'),
    ])
    expect(await visitor.page.locator('iframe').count()).to.equal(1)
    await visitor.context.close()
    const plain = await newVisitor({ javaScriptEnabled: false })
    await plain.open(path)
    expect(await plain.page.locator('details[open] code').first().isVisible()).to.equal(true)
    expect(plain.faults).to.deep.equal([])
    await plain.context.close()
  })

  it('follow the theme, and their scripts are loaded only if there is one, and only in view', async () => {
    const visitor = await newVisitor({ colorScheme: 'light', viewport: { width: 1_000, height: 600 } })
    const { page, open } = visitor
    const loaded: string[] = []
    page.on('request', (request) => loaded.push(new URL(request.url()).pathname))
    await open(await aPage('None', 'No diagram.\n\n```js\n1\n```'))
    expect(loaded.filter((path) => path.includes('diagram'))).to.deep.equal([])
    await open(await aPage('Far', `${'Text.\n\n'.repeat(100)}${fence(kinds.pie ?? '')}`))
    await page.waitForLoadState('networkidle')
    expect(loaded.filter((path) => /diagrams$|diagram-/.test(path))).to.deep.equal([])
    await outcomes(visitor)
    const image = page.locator('.drawing img')
    const light = await image.getAttribute('src')
    await page.getByRole('button', { name: 'Switch between light and dark' }).click()
    await page.locator(`.drawing img:not([src="${light}"])`).waitFor()
    await visitor.context.close()
  })

  it('have a frame that is alone: no cookie, no page of this service, no other host', async () => {
    const visitor = await newVisitor()
    const { page, open } = visitor
    await open(await aPage('Frame', fence(kinds.pie ?? '')))
    await outcomes(visitor)
    const frame = page.frames().find((one) => one.url().endsWith('/assets/diagrams'))
    expect(await frame?.evaluate('self.origin')).to.equal('null')
    for (const act of ['document.cookie', 'localStorage.length', 'parent.document.title'])
      expect(
        await frame?.evaluate(`(() => { try { return ${act} } catch (error) { return error.name } })()`),
        act,
      ).to.equal('SecurityError')
    for (const url of ['/auth/me', 'https://evil.example/'])
      expect(
        await frame?.evaluate(
          `fetch(${JSON.stringify(new URL(url, grove.url).href)}).then(() => 'sent', () => 'refused')`,
        ),
        url,
      ).to.equal('refused')
    await visitor.context.close()
  })
})
