/** The facts of files that a text links to: size, type, and the pixels of pictures, read from their first bytes. */

import { deflateSync } from 'node:zlib'
import { expect } from 'chai'
import fc from 'fast-check'
import { commandsBelow } from '../bench/processes.ts'
import type { TestNode } from '../support/node.ts'
import { runs } from '../support/seed.ts'
import { aNode, ann, useScene } from './scene.ts'

const u16 = (value: number) => Buffer.of(value >> 8, value & 255)
const u32 = (value: number) => Buffer.of((value >> 24) & 255, (value >> 16) & 255, (value >> 8) & 255, value & 255)
const le = (bytes: Buffer) => Buffer.from(bytes).reverse()
const text = (value: string) => Buffer.from(value, 'latin1')

type Size = readonly [width: number, height: number]
const encoders = {
  png: ([w, h]: Size) =>
    Buffer.concat([text('\x89PNG\r\n\x1a\n'), u32(13), text('IHDR'), u32(w), u32(h), Buffer.of(8, 6, 0, 0, 0)]),
  gif: ([w, h]: Size) => Buffer.concat([text('GIF89a'), le(u16(w)), le(u16(h)), Buffer.of(0, 0, 0)]),
  jpg: ([w, h]: Size) => jpeg([w, h], []),
  webp: ([w, h]: Size) => webp('VP8 ', [Buffer.of(0, 0, 0, 0x9d, 1, 0x2a), le(u16(w)), le(u16(h))]),
  'x.webp': ([w, h]: Size) => webp('VP8X', [u32(0), le(u32(w - 1)).subarray(0, 3), le(u32(h - 1)).subarray(0, 3)]),
  'l.webp': ([w, h]: Size) => webp('VP8L', [Buffer.of(0x2f), le(u32(((h - 1) << 14) | (w - 1)))]),
  avif: ([w, h]: Size) =>
    Buffer.concat([
      u32(24),
      text('ftypavif'),
      u32(0),
      text('avifmif1'),
      box('ispe', [u32(0), u32(1), u32(1)]),
      box('ispe', [u32(0), u32(w), u32(h)]),
    ]),
  svg: ([w, h]: Size) =>
    text(`<?xml version="1.0"?><!-- <svg width="1"> --><svg height='${h}px' a=">" width="${w}"></svg>`),
  'box.svg': ([w, h]: Size) => text(`<svg xmlns="http://www.w3.org/2000/svg" width="100%" viewBox="0,0 ${w} ${h}"/>`),
}

function webp(name: string, parts: readonly Buffer[]): Buffer {
  return Buffer.concat([text('RIFF'), u32(0), text(`WEBP${name}`), u32(0), ...parts, Buffer.alloc(20)])
}

function box(name: string, parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat([text(name), ...parts])
  return Buffer.concat([u32(body.length + 4), body])
}

/** A frame after segments, and no more of the picture. */
function jpeg([w, h]: Size, segments: readonly (readonly [marker: number, body: Buffer])[]): Buffer {
  const parts = segments.map(([marker, body]) => Buffer.concat([Buffer.of(0xff, marker), u16(body.length + 2), body]))
  return Buffer.concat([
    ...[Buffer.of(0xff, 0xd8), ...parts, Buffer.of(0xff, 0xc2), u16(17), Buffer.of(8), u16(h), u16(w)],
    Buffer.alloc(20),
  ])
}

function exif(orientation: number, isLittle: boolean): Buffer {
  const order = (bytes: Buffer) => (isLittle ? le(bytes) : bytes)
  const entry = Buffer.concat([
    order(u16(0x0112)),
    order(u16(3)),
    order(u32(1)),
    order(u16(orientation)),
    Buffer.alloc(2),
  ])
  const other = Buffer.concat([order(u16(0x010f)), Buffer.alloc(10)])
  const tiff = [text(isLittle ? 'II' : 'MM'), order(u16(42)), order(u32(8)), order(u16(2)), other, entry]
  return Buffer.concat([text('Exif\0\0'), ...tiff])
}

describe('the files that a text links to', () => {
  useScene()

  const facts = async (files: Readonly<Record<string, string | Buffer>>) => {
    const node: TestNode = await aNode()
    const written = Object.keys(files).map((name) => `![[${name}]]`)
    node.git.point('dev', node.git.commit({ files: { 'content.md': written.join('\n'), ...files } }))
    const { links } = (await ann.get(`${node.at}/links?revision=dev`)).body
    const found = (links as { file: Record<string, unknown> }[]).map(({ file }) => {
      expect(file.object_id).to.equal(node.git.say('rev-parse', `dev:${file.path}`))
      return [file.path, [file.width, file.height]] as const
    })
    return Object.fromEntries(found)
  }

  it.deep('have the pixels that their headers name', async () => {
    const size = fc.tuple(fc.integer({ min: 1, max: 16_383 }), fc.integer({ min: 1, max: 16_383 }))
    await fc.assert(
      fc.asyncProperty(fc.array(size, { minLength: 9, maxLength: 9 }), async (sizes) => {
        const names = Object.entries(encoders).map(
          ([ending], at) => [ending.includes('.') ? ending : `p.${ending}`, at] as const,
        )
        const files = names.map(([name, at]) => [name, Object.values(encoders)[at]?.(sizes[at] ?? [1, 1]) ?? ''])
        expect(await facts(Object.fromEntries(files))).to.deep.equal(
          Object.fromEntries(names.map(([name, at]) => [name, sizes[at]])),
        )
      }),
      { numRuns: runs(10) },
    )
  })

  it('are turned as a JPEG says, and found after metadata of up to 64 KiB', async () => {
    const turned = Array.from({ length: 16 }, (_, at) => [
      `${at}.jpg`,
      jpeg(
        [30, 20],
        [
          [0xe0, text('JFIF\0')],
          [0xe1, exif((at % 8) + 1, at < 8)],
        ],
      ),
    ])
    const found = await facts({
      ...Object.fromEntries(turned),
      'long.jpg': jpeg([7, 5], [[0xe2, Buffer.alloc(60_000)]]),
      'too-long.jpg': jpeg(
        [7, 5],
        [
          [0xe2, Buffer.alloc(65_000)],
          [0xe2, Buffer.alloc(65_000)],
        ],
      ),
      'large.jpg': Buffer.concat([jpeg([7, 5], [[0xe2, Buffer.alloc(20_000)]]), Buffer.alloc(3_000_000)]),
    })
    for (const [at] of turned.entries())
      expect(found[`${at}.jpg`], `${at}`).to.deep.equal(at % 8 < 4 ? [30, 20] : [20, 30])
    expect([found['long.jpg'], found['too-long.jpg'], found['large.jpg']]).to.deep.equal([
      [7, 5],
      [undefined, undefined],
      [7, 5],
    ])
    expect((await commandsBelow(process.pid)).filter((line) => line.includes('cat-file blob'))).to.deep.equal([])
  })

  it('have none if a header is cut, is that of another format, or names impossible pixels', async () => {
    const cut = Object.entries(encoders).map(([ending, encode]) => [`cut.${ending}`, encode([30, 20]).subarray(0, 9)])
    const none = {
      ...Object.fromEntries(cut),
      'page.png': '<html><img width="3" height="4">',
      'zero.png': encoders.png([0, 20]),
      'huge.png': encoders.png([0x7fffffff, 20]),
      'no.svg': '<!-- <svg width="1" height="1"> -->',
      'quotes.svg': `<svg ${'" <svg '.repeat(8_000)}`,
      'comments.svg': '<!--'.repeat(16_000),
      'bad.svg': '<svg width="-3" height="1e9" viewBox="0 0 x y">',
      'loop.jpg': jpeg([3, 4], []).fill(0xff, 2),
      'null.jpg': jpeg([3, 4], [[0xe1, text('Exif\0\0MM\0*\xff\xff\xff\xff')]]).fill(0, 20),
    }
    const found = await facts(none)
    for (const name of Object.keys(none)) expect(found[name], name).to.deep.equal([undefined, undefined])
  })

  it('have a size and a type, which their bytes decide', async () => {
    const files = {
      'a.mp4': '<html><script>1</script>',
      'b.txt': text('\0\0\0\x20ftypisom'),
      'c.mp3': Buffer.of(0xff, 0xf3, 0x40, 0xc0, 0, 0),
      'd.pdf': '%PDF-1.7',
      'e.png': Buffer.concat([encoders.png([3, 4]), deflateSync('x'), text('<script>1</script>')]),
    }
    const node = await aNode()
    const written = Object.keys(files).map((name) => `![](${name})`)
    node.git.point('dev', node.git.commit({ files: { 'content.md': written.join('\n'), ...files } }))
    const { links } = (await ann.get(`${node.at}/links?revision=dev`)).body
    const types = (links as { file: Record<string, unknown> }[]).map(({ file }) => [file.media_type, file.size])
    expect(types).to.deep.equal([
      ['text/plain; charset=utf-8', 24],
      ['video/mp4', 12],
      ['audio/mpeg', 6],
      ['application/pdf', 8],
      ['image/png', files['e.png'].length],
    ])
  })
})
