/** Pictures and players as a browser shows them: nothing moves, sizes are those of the browser, and media can seek. */

import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { ann, expectSound, grove, newVisitor, useScene, type Visitor } from './scene.ts'

describe('pictures and players', () => {
  useScene()

  const aPage = async (title: string, text_content: string, files: Readonly<Record<string, Buffer>>) => {
    const { id: org } = await made(ann.post('/orgs', { name: title, published: true }))
    const { id } = await made(ann.post(`/orgs/${org}/nodes`, { title, text_content }))
    // One commit each, because a request has a limit.
    for (const [path, bytes] of Object.entries(files)) {
      const change = { action: 'put', path, encoding: 'base64', content: bytes.toString('base64') }
      await made(ann.post(`/orgs/${org}/nodes/${id}/tree/main/commits`, { message: 'Files', changes: [change] }))
    }
    return pageAt(org, id)
  }

  /** Encodes a picture by the browser's own encoder. */
  const encoded = async ({ page, open }: Visitor, type: string, width: number, height: number): Promise<Buffer> => {
    await open('/sign-in')
    const url = await page.evaluate(`(() => {
      const canvas = Object.assign(document.createElement('canvas'), { width: ${width}, height: ${height} })
      canvas.getContext('2d').fillRect(0, 0, ${width / 2}, ${height})
      return canvas.toDataURL('${type}')
    })()`)
    expect(url).to.match(new RegExp(`^data:${type};`))
    return Buffer.from(String(url).split(',')[1] ?? '', 'base64')
  }

  /** The same JPEG, which says that it is turned. */
  const turned = (jpeg: Buffer) => {
    const tiff = Buffer.from('4d4d002a00000008000101120003000000010006000000000000', 'hex')
    const body = Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), tiff])
    const head = Buffer.from([0xff, 0xe1, 0, body.length + 2])
    return Buffer.concat([jpeg.subarray(0, 2), head, body, jpeg.subarray(2)])
  }

  it('have the pixels that the browser finds in them, and move nothing when they are loaded', async () => {
    const maker = await newVisitor()
    const jpeg = await encoded(maker, 'image/jpeg', 300, 200)
    const files = {
      'a.png': await encoded(maker, 'image/png', 640, 320),
      'b.jpg': jpeg,
      'turned.jpg': turned(jpeg),
      'c.webp': await encoded(maker, 'image/webp', 123, 77),
      'd.gif': Buffer.from('R0lGODlhAQABAIAAAP///wAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64'),
      'e.svg': Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="5cm" viewBox="0 0 100 50"/>'),
      'f.svg': Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="90" height="30"><script>1</script></svg>'),
    }
    await maker.context.close()
    const text = Object.keys(files).map((name) => `Text.\n\n![Words](${name})`)
    const path = await aPage('Pictures', `${text.join('\n\n')}\n\n![[a.png|200x300]]\n\nThe end.`, files)
    for (const width of [390, 1_440]) {
      const visitor = await newVisitor({ viewport: { width, height: 900 } })
      const { page, faults } = visitor
      await page.addInitScript(`window.shifts = 0
        new PerformanceObserver((list) => { for (const one of list.getEntries()) window.shifts += one.value })
          .observe({ type: 'layout-shift', buffered: true })`)
      // Pictures arrive only after the page was drawn without them.
      let release = () => {}
      const drawn = new Promise<void>((done) => {
        release = done
      })
      await page.route(/\/raw\//, async (route) => {
        await drawn
        await route.continue()
      })
      await page.goto(grove.url + path, { waitUntil: 'domcontentloaded' })
      const heights = `[...document.querySelectorAll('.prose img')].map((image) => Math.round(image.getBoundingClientRect().height))`
      const before = await page.evaluate(heights)
      release()
      for (const image of await page.locator('.prose img').all()) {
        await image.scrollIntoViewIfNeeded()
      }
      await page.waitForFunction(`[...document.querySelectorAll('.prose img')].every((image) => image.complete)`)
      const natural = await page.evaluate(
        `[...document.querySelectorAll('.prose img')].map((image) => [image.naturalWidth, image.naturalHeight])`,
      )
      const written = await page.evaluate(
        `[...document.querySelectorAll('.prose img')].map((image) => ['width', 'height'].map((name) => Number(image.getAttribute(name))))`,
      )
      expect((natural as unknown[]).slice(0, -1)).to.deep.equal((written as unknown[]).slice(0, -1))
      expect((written as unknown[]).at(-1)).to.deep.equal([200, 100])
      // A drawing in centimetres has no whole number of pixels.
      for (const [at, height] of ((await page.evaluate(heights)) as number[]).entries())
        expect(height, `${at}`).to.be.closeTo((before as number[])[at] ?? 0, 1)
      expect(await page.evaluate('window.shifts')).to.be.lessThan(0.001)
      await expectSound(page)
      expect(faults).to.deep.equal([])
      await visitor.context.close()
    }
  })

  it('play and seek: six of them at once, for an anonymous visitor', async () => {
    const visitor = await newVisitor()
    const { page, open, faults } = visitor
    const names = Array.from({ length: 6 }, (_, at) => `${at}.wav`)
    const files = Object.fromEntries(names.map((name, at) => [name, wave(60 + at)]))
    await open(await aPage('Sounds', names.map((name) => `![[${name}]]`).join('\n\n'), files))
    for (const [at, audio] of (await page.locator('audio').all()).entries()) {
      await audio.scrollIntoViewIfNeeded()
      const heard = await page.evaluate(`new Promise((done, fail) => {
        const audio = document.querySelectorAll('audio')[${at}]
        const seek = () => {
          audio.onseeked = () => done([Math.round(audio.duration), Math.round(audio.currentTime)])
          audio.currentTime = 50
        }
        audio.onerror = () => fail(new Error(audio.error.message))
        if (audio.readyState > 0) seek()
        else audio.onloadedmetadata = seek
      })`)
      expect(heard, `${at}`).to.deep.equal([60 + at, 50])
    }
    await expectSound(page)
    expect(faults).to.deep.equal([])
    await visitor.context.close()
  })

  it('lead to the whole picture', async () => {
    const visitor = await newVisitor()
    const { page, open } = visitor
    const png = readFileSync('server/pages/grove.png')
    await open(await aPage('Click', '![[grove.png|300]]', { 'grove.png': png }))
    await page.locator('a.picture').click()
    await page.waitForURL(/\/raw\/grove\.png$/)
    await visitor.context.close()
  })
})

/** Silence of some seconds: 44,100 samples a second of two bytes. */
function wave(seconds: number): Buffer {
  const data = Buffer.alloc(88_200 * seconds)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + data.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(44_100, 24)
  head.writeUInt32LE(88_200, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(data.length, 40)
  return Buffer.concat([head, data])
}
