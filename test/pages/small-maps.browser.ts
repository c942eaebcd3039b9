/** Maps of few nodes: whole on a telephone, by the colours of what is drawn. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { until } from '../support/until.ts'
import { ann, newVisitor, signIn, useScene, type Visitor } from './scene.ts'

interface Drawn {
  /** Pixels at the ends of the canvas that are not of its ground. */
  readonly cut: number
  /** The longest row of pixels that are not. */
  readonly widest: number
}

describe('a map of few nodes', () => {
  useScene()
  let visitor: Visitor

  before(async () => {
    visitor = await newVisitor({ viewport: { width: 390, height: 844 } })
    await signIn(visitor)
  })
  after(() => visitor.context.close())

  /** Of a picture of the canvas, looked at in a page without rules for pictures. */
  const drawnIn = async (picture: Buffer): Promise<Drawn> => {
    const page = await visitor.context.newPage()
    const drawn = await page.evaluate(
      async (source) => {
        const image = new Image()
        image.src = source
        await image.decode()
        const { width, height } = image
        const context = Object.assign(document.createElement('canvas'), { width, height }).getContext('2d')
        context?.drawImage(image, 0, 0)
        const data = context?.getImageData(0, 0, width, height).data ?? new Uint8ClampedArray()
        let [cut, widest] = [0, 0]
        for (let y = 0; y < height; y++) {
          let row = 0
          for (let x = 0; x < width; x++) {
            const at = 4 * (y * width + x)
            const isBare = [0, 1, 2].every((n) => Math.abs((data[at + n] ?? 0) - (data[n] ?? 0)) < 12)
            row = isBare ? 0 : row + 1
            widest = Math.max(widest, row)
            if (!isBare && (x < 2 || x >= width - 2 || y < 2 || y >= height - 2)) cut++
          }
        }
        return { cut, widest }
      },
      `data:image/png;base64,${picture.toString('base64')}`,
    )
    await page.close()
    return drawn
  }

  for (const count of [1, 2, 3, 12])
    it(`shows each of ${count} whole, none larger than others are`, async () => {
      const { page, open, faults } = visitor
      const org = (await made(ann.post('/orgs', { name: `Map of ${count}` }))).id
      const title = (n: number) => (n === 1 ? 'A page with a title that is longer than its dot' : `Node ${n}`)
      const nodes = Array.from({ length: count }, (_, n) => ({ title: title(n) }))
      await made(ann.post(`/orgs/${org}/nodes/batch`, { nodes }))
      await open(`${pageAt(org)}/graph`)
      await page.locator(`#canvas[data-drawn="${count}"]`).waitFor()
      const look = async () => drawnIn(await page.locator('#canvas').screenshot())
      await until(async () => (await look()).widest > 0)
      const { cut, widest } = await look()
      expect(cut, 'pixels that the ends of the map cut').to.equal(0)
      expect(widest, 'pixels of the widest dot, its name and its edge').to.be.within(40, 130)
      expect(faults).to.deep.equal([])
    })

  it('has names next to its dots on the page of the organisation, none over another', async () => {
    const { page, open, faults } = visitor
    const org = (await made(ann.post('/orgs', { name: 'Small map' }))).id
    const nodes = Array.from({ length: 12 }, (_, n) => ({
      ref: `n${n}`,
      title: `Node ${n}`,
      connections: [{ target: `n${(n + 1) % 12}` }],
    }))
    await made(ann.post(`/orgs/${org}/nodes/batch`, { nodes }))
    await open(pageAt(org))
    await page.locator('.mini').waitFor()
    const boxes = async (selector: string) => {
      const found = await page.locator(selector).all()
      return Promise.all(found.map(async (one) => (await one.boundingBox()) ?? expect.fail('It is not shown')))
    }
    const dots = await boxes('.mini .node')
    expect(dots.length).to.equal(12)
    for (const { width } of dots) expect(width).to.be.at.most(56)
    const names = await boxes('.mini text')
    expect(names.length).to.be.above(6)
    for (const [at, one] of names.entries())
      for (const other of names.slice(at + 1)) {
        const [aside, above] = [Math.abs(one.x - other.x), Math.abs(one.y - other.y)]
        // Lines of a font are higher than its letters.
        expect(aside >= Math.min(one.width, other.width) - 4 || above >= one.height - 6).to.equal(true)
      }
    expect(faults).to.deep.equal([])
  })

  for (const [count, folders] of [
    [191, 16],
    [1_200, 0],
  ] as const)
    it(`of ${count} in ${folders} folders ${count < 300 ? 'opens with' : 'offers'} links, and no areas share a colour`, async () => {
      const { page, open, faults } = visitor
      const org = (await made(ann.post('/orgs', { name: `Map of ${count}` }))).id
      const ids: string[] = []
      for (let from = 0; from < count; from += 600) {
        const nodes = Array.from({ length: Math.min(600, count - from) }, (_, at) => ({
          title: `Node ${from + at}`,
          ref: `n${from + at}`,
          parents: from + at < folders || folders === 0 ? [] : [`n${at % folders}`],
          connections:
            at === 0 ? [] : [{ target: `n${from + Math.floor(at / 2)}`, type: at % 2 ? 'cites' : 'links_to' }],
        }))
        ids.push(
          ...(await made(ann.post(`/orgs/${org}/nodes/batch`, { nodes }))).nodes.map(({ id }: { id: string }) => id),
        )
      }
      await open(`${pageAt(org)}/graph`)
      await page.locator(`#canvas[data-drawn="${ids.length}"]`).waitFor()
      const links = page.getByLabel('Links', { exact: true })
      expect(await links.isChecked()).to.equal(count < 300)
      await links.check()
      for (const type of ['cites', 'links to']) await until(() => page.getByLabel(type).isChecked())
      await page.getByLabel('cites').uncheck()
      expect(await page.getByLabel('links to').isChecked()).to.equal(true)
      const colours = await page
        .locator('.areas .dot[data-c]')
        .evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor))
      expect(colours.length).to.equal(folders === 0 ? 1 : 7)
      expect(new Set(colours).size).to.equal(colours.length)
      expect(await page.locator('.areas .dot').count()).to.equal(Math.max(folders, 1))
      expect(faults).to.deep.equal([])
    })
})
