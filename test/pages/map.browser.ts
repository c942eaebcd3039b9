/** The page of the graph: a map that is clicked, searched and left again, and a list for who does not see it. */

import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { made } from '../support/cast.ts'
import { pageAt, withoutWords } from '../support/pages.ts'
import { client } from '../support/people.ts'
import { ann, expectSound, grove, newVisitor, signIn, useScene, type Visitor } from './scene.ts'

const size = 2_000
/** Bytes. */
const budgets = { script: 16_000, org: 35_000 }

describe('the graph page', () => {
  useScene()
  let org: string
  let path: string
  /** In the order of creation: ten areas, each with its nodes. */
  const ids: string[] = []

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas', published: true }))).id
    path = `${pageAt(org)}/graph`
    const areas = ['Sea', 'Land', 'Sky', 'Ice', 'Sand', 'Rivers', 'Woods', 'Towns', 'Caves', 'Hills']
    const batch = async (nodes: object[]) => {
      const { body } = await ann.post(`/orgs/${org}/nodes/batch`, { nodes })
      ids.push(...body.nodes.map(({ id }: { id: string }) => id))
    }
    await batch(areas.map((title) => ({ title })))
    const node = (n: number) => ({
      title: n === 10 ? 'Blue whale' : `Node ${n}`,
      text_content: `The text of node ${n}.`,
      parents: [ids[n % 10]],
      connections: n === 10 ? [{ target: ids[1], type: 'lives_on' }] : [],
    })
    for (let n = 10; n < size; n += 998)
      await batch(Array.from({ length: Math.min(998, size - n) }, (_, at) => node(n + at)))
  })

  const drawn = (page: Page) => page.locator(`#canvas[data-drawn="${size}"]`).waitFor()

  it('is a list of areas with their nodes without script', async () => {
    const { context, page, open, faults } = await newVisitor({ javaScriptEnabled: false })
    expect(await open(path)).to.deep.equal({ status: 200 })
    expect(await page.locator('h1').textContent()).to.equal('Atlas')
    const sea = page.locator('.areas > li', { has: page.locator(`[data-area="${ids[0]}"]`) })
    expect(await sea.textContent())
      .to.include('Sea200')
      .and.include('Blue whale')
      .and.include('and 187 more')
    await sea.getByRole('link', { name: 'and 187 more' }).click()
    expect(await page.locator('h1').textContent()).to.equal('Sea')
    await page.getByLabel('Highlight pages').fill('blue')
    await page.keyboard.press('Enter')
    await page.waitForURL(/q=blue/)
    expect(await page.locator('.told').textContent()).to.equal('1 page')
    expect(await page.getByRole('link', { name: 'Blue whale' }).first().getAttribute('href')).to.equal(
      pageAt({ id: org, name: 'Atlas' }, { id: ids[10] ?? '', title: 'Blue whale' }),
    )
    expect(faults).to.deep.equal([])
    await context.close()
  })

  it('is clicked, searched and walked back', async () => {
    const { context, page, open, faults } = await newVisitor({ viewport: { width: 1440, height: 900 } })
    await open(path)
    await drawn(page)
    // The whale, where its area fills the map.
    await page.locator(`[data-area="${ids[0]}"]`).click()
    await page.locator(`[data-node="${ids[10]}"]`).click()
    const peek = page.getByRole('region', { name: 'Selected page' })
    await peek.getByRole('heading', { name: 'Blue whale' }).waitFor()
    expect(await peek.textContent())
      .to.include('The text of node 10.')
      .and.include('lives on')
      .and.include('2 links in total')
    expect(new URL(page.url()).searchParams.get('focus')).to.equal(ids[10])
    await peek.getByRole('link', { name: 'Land' }).click()
    await peek.getByRole('heading', { name: 'Land' }).waitFor()
    await page.goBack()
    await peek.getByRole('heading', { name: 'Blue whale' }).waitFor()
    await page.goBack()
    await peek.waitFor({ state: 'hidden' })
    expect(new URL(page.url()).searchParams.has('focus')).to.equal(false)
    await page.getByLabel('Highlight pages').fill('node 49')
    await page.getByText('11 pages').waitFor()
    await page.waitForURL(/q=node\+49/)
    const links = page.getByLabel('Links', { exact: true })
    expect(await links.isChecked(), 'links of a large map').to.equal(false)
    await links.check()
    const types = ['lives on', 'subpage'].map((name) => page.getByLabel(name))
    for (const type of types) await type.check()
    await page.locator(`[data-node="${ids[10]}"]`).click()
    await peek.waitFor()
    for (const choice of [links, ...types]) expect(await choice.isChecked()).to.equal(true)
    await links.uncheck()
    await types[0]?.waitFor({ state: 'hidden' })
    expect(faults).to.deep.equal([])
    await context.close()
  })

  it('names areas where the name covers no dot of another area', async () => {
    const { context, page, open, faults } = await newVisitor({ viewport: { width: 1440, height: 900 } })
    await page.addInitScript(recordDrawing)
    const crowd = (await made(ann.post('/orgs', { name: 'Crowd', published: true }))).id
    const areas = Array.from({ length: 12 }, (_, n) => ({ id: randomUUID(), title: `The long name of area ${n}` }))
    const inside = areas.flatMap(({ id }) => Array.from({ length: 15 }, () => ({ title: 'Page', parents: [id] })))
    await made(ann.post(`/orgs/${crowd}/nodes/batch`, { nodes: [...areas, ...inside] }))
    await open(`${pageAt(crowd)}/graph`)
    await page.locator('#canvas[data-drawn="192"]').waitFor()
    const { names, dots } = (await page.evaluate('drawing')) as Drawn // the shape of recordDrawing
    expect(names.filter(({ text }) => text.startsWith('The long')).length).to.be.at.least(4)
    expect(dots.length).to.be.at.least(192)
    for (const { text, x, y, wide } of names) {
      const [aside, above] = [wide / 2, 8]
      const covered = dots.filter(
        (dot) => Math.hypot(Math.max(Math.abs(dot.x - x) - aside, 0), Math.max(Math.abs(dot.y - y) - above, 0)) < dot.r,
      )
      expect(new Set(covered.map(({ colour }) => colour)).size, text).to.be.at.most(1)
    }
    expect(faults).to.deep.equal([])
    await context.close()
  })

  it('fills the canvas, and shows the links of few pages from the start', async () => {
    const { context, page, open, faults } = await newVisitor({ viewport: { width: 1440, height: 900 } })
    await page.addInitScript(recordDrawing)
    const few = (await made(ann.post('/orgs', { name: 'Few', published: true }))).id
    const node = (title: string) => ({ title, text_content: 'Few words.' })
    const { nodes } = (await made(ann.post(`/orgs/${few}/nodes/batch`, { nodes: ['A', 'B', 'C'].map(node) }))) as {
      nodes: { id: string }[]
    }
    await made(ann.post(`/orgs/${few}/nodes/${nodes[0]?.id}/connections`, { target: nodes[1]?.id, type: 'links_to' }))
    await open(`${pageAt(few)}/graph`)
    await page.locator('#canvas[data-drawn="3"]').waitFor()
    const { names, dots, lines } = (await page.evaluate('drawing')) as Drawn // the shape of recordDrawing
    expect(lines).to.equal(1)
    expect(dots.map(({ r }) => r)).to.deep.equal([44, 44, 44])
    // Names in dots are written without a halo.
    expect(names.map(({ text, hasHalo }) => ({ text, hasHalo }))).to.have.deep.members(
      ['A', 'B', 'C'].map((text) => ({ text, hasHalo: false })),
    )
    expect(await page.getByLabel('Links', { exact: true }).isChecked()).to.equal(true)
    expect(faults).to.deep.equal([])
    await context.close()
  })

  it('finds the dot that is clicked', async () => {
    const { context, page, open, faults } = await newVisitor({ viewport: { width: 1440, height: 900 } })
    await open(`${path}?under=${ids[10]}`)
    await page.locator('#canvas[data-drawn="1"]').waitFor()
    const box = await page.locator('#canvas').boundingBox()
    if (!box) throw new Error('There is no canvas')
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2)
    await page.getByRole('heading', { name: 'Blue whale', level: 2 }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { name: 'Blue whale', level: 2 }).waitFor({ state: 'hidden' })
    expect(faults).to.deep.equal([])
    await context.close()
  })

  it('is reached by a key, from a node with that node chosen', async () => {
    const { context, page, open } = await newVisitor()
    await open(pageAt(org, ids[10]))
    await page.keyboard.press('g')
    await page.waitForURL(({ href }) => withoutWords(href) === `${grove.url}${path}?focus=${ids[10]}`)
    await page.getByRole('heading', { name: 'Blue whale', level: 2 }).waitFor()
    await context.close()
  })

  it('says so if nothing can be drawn, and stays a list', async () => {
    const { context, page, open, faults } = await newVisitor()
    await page.addInitScript('HTMLCanvasElement.prototype.getContext = () => null')
    await open(path)
    await page.getByText('This browser cannot draw the map').waitFor()
    await page.getByRole('link', { name: 'Blue whale' }).waitFor()
    expect(faults).to.deep.equal([])
    await context.close()
  })

  it('is sound in light and dark, on a telephone and on a desk, and so is the small map', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const visitor: Visitor = await newVisitor({ colorScheme })
      const { page, open, faults, context } = visitor
      // Members see the small map.
      await signIn(visitor)
      for (const width of [390, 1440]) {
        await page.setViewportSize({ width, height: 900 })
        await open(`${path}?focus=${ids[10]}`)
        await page.getByRole('heading', { name: 'Blue whale', level: 2 }).waitFor()
        await expectSound(page)
        await open(pageAt(org))
        await page.locator('.mini').waitFor()
        await expectSound(page)
      }
      expect(faults).to.deep.equal([])
      await context.close()
    }
  })

  it('is small, and so is the page of the organisation', async () => {
    const home = pageAt({ id: org, name: 'Atlas' })
    const html = { accept: 'text/html' }
    const { body, headers } = await ann.get(home, html)
    expect(withoutWords(body)).to.include(`href="${path}?under=${ids[0]}"`)
    expect(Buffer.byteLength(body)).to.be.below(budgets.org)
    expect((await ann.get(home, { ...html, 'if-none-match': headers.etag ?? '' })).status).to.equal(304)
    const scripts = await loaded(['page', 'theme', 'map'])
    const bytes = scripts.map((script) => gzipSync(script, { level: 9 }).length)
    expect(bytes.reduce((sum, one) => sum + one, 0)).to.be.below(budgets.script)
  })

  it('ends with the publication', async () => {
    await made(ann.patch(`/orgs/${org}`, { published: false }))
    const { status, body } = await client(grove).get(path)
    expect(status).to.equal(401)
    expect(body).not.to.include('Atlas')
    await made(ann.patch(`/orgs/${org}`, { published: true }))
  })
})

interface Drawn {
  readonly names: readonly { text: string; x: number; y: number; wide: number; hasHalo: boolean }[]
  readonly dots: readonly { x: number; y: number; r: number; colour: string }[]
  readonly lines: number
}

/** Records in `drawing` what is drawn on a canvas until the map is shown. */
const recordDrawing = `
  var halo
  var begin = () => {
    globalThis.drawing = { names: [], dots: [], lines: 0 }
    halo = ''
  }
  begin()
  var canvas = CanvasRenderingContext2D.prototype
  var { arc, clearRect, fillText, strokeText, lineTo } = canvas
  // Each drawing begins so.
  canvas.clearRect = function (...rest) {
    begin()
    clearRect.apply(this, rest)
  }
  canvas.arc = function (x, y, r, ...rest) {
    drawing.dots.push({ x, y, r, colour: this.fillStyle })
    arc.call(this, x, y, r, ...rest)
  }
  canvas.strokeText = function (text, ...rest) {
    halo = text
    strokeText.call(this, text, ...rest)
  }
  canvas.fillText = function (text, x, y) {
    drawing.names.push({ text, x, y: y - 5, wide: this.measureText(text).width, hasHalo: halo === text })
    fillText.call(this, text, x, y)
  }
  canvas.lineTo = function (...rest) {
    drawing.lines++
    lineTo.apply(this, rest)
  }
`

/** The built scripts of these names, and what they import. */
async function loaded(names: readonly string[]): Promise<string[]> {
  const files = await readdir('dist/assets')
  const found = new Map<string, string>()
  const waiting = files.filter((file) => names.some((name) => file.startsWith(`${name}.`) && file.endsWith('.js')))
  for (const file of waiting) {
    if (found.has(file)) continue
    const script = await readFile(`dist/assets/${file}`, 'utf8')
    found.set(file, script)
    for (const [, name] of script.matchAll(/(?:from|import)"\.\/([\w.-]+)"/g)) if (name) waiting.push(name)
  }
  expect(found.size).to.be.above(names.length)
  return [...found.values()]
}
