/** Maps of few nodes: whole on a telephone, by the colours of what is drawn. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
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
      await open(`/o/${org}/graph`)
      await page.locator(`#canvas[data-drawn="${count}"]`).waitFor()
      const look = async () => drawnIn(await page.locator('#canvas').screenshot())
      await until(async () => (await look()).widest > 0)
      const { cut, widest } = await look()
      expect(cut, 'pixels that the ends of the map cut').to.equal(0)
      expect(widest, 'pixels of the widest dot, its name and its edge').to.be.within(40, 130)
      expect(faults).to.deep.equal([])
    })
})
