/** The bytes of files: types, ranges, caching, and that nothing in them runs. */

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import fc from 'fast-check'
import { commandsBelow } from '../bench/processes.ts'
import { expecting, type TestNode } from '../support/node.ts'
import { client } from '../support/people.ts'
import { runs } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { aNode, ann, grove, leavesCleanRepositories, useScene } from './scene.ts'

const policy = "default-src 'none'; sandbox"

describe('contents', () => {
  useScene()

  const ask = async (address: string, headers: Record<string, string> = {}, method = 'GET') => {
    const authorization = `Bearer ${ann.session.accessToken}`
    const answer = await fetch(grove.url + address, { method, headers: { authorization, ...headers } })
    return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
  }
  const rawOf = ({ at }: TestNode, path: string, revision = 'dev') =>
    `${at}/tree/${revision}/raw/${encodeURIComponent(path)}`
  const nodeWith = async (
    files: Record<string, string | Buffer | { mode: string; content: string } | { mode: string; oid: string }>,
  ) => {
    const node = await aNode()
    node.git.point('dev', node.git.commit({ files, parents: [node.git.head()] }))
    return node
  }

  describe('the raw bytes of a file', () => {
    it.deep('are those of git cat-file, with its id, its type and its name', async () => {
      const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), randomBytes(100)])
      const types: Record<string, readonly [content: string | Buffer, type: string, kind: string]> = {
        'content.md': ['# Größe\n', 'text/markdown; charset=utf-8', 'inline'],
        'a "b"\t€.txt': ['text\n', 'text/plain; charset=utf-8', 'inline'],
        'latin.txt': [Buffer.from('Gr\xf6\xdfe', 'latin1'), 'text/plain', 'inline'],
        'cut.txt': ['x'.repeat(7_999) + 'ß'.repeat(1_000), 'text/plain; charset=utf-8', 'inline'],
        'data.json': ['{}', 'application/json', 'inline'],
        'page.html': ['<script>1</script>', 'text/plain; charset=utf-8', 'inline'],
        'page.xhtml': ['<html xmlns="http://www.w3.org/1999/xhtml"/>', 'text/plain; charset=utf-8', 'inline'],
        'code.js': ['1', 'text/plain; charset=utf-8', 'inline'],
        'look.css': ['*{}', 'text/plain; charset=utf-8', 'inline'],
        'draw.svg': ['<svg xmlns="http://www.w3.org/2000/svg"/>', 'image/svg+xml', 'inline'],
        'picture.png': [png, 'image/png', 'inline'],
        'picture.txt': [png, 'image/png', 'inline'],
        'fake.png': ['<script>1</script>', 'text/plain; charset=utf-8', 'inline'],
        'fake.svg': [Buffer.of(0, 1, 2), 'application/octet-stream', 'attachment'],
        'paper.pdf': ['%PDF-1.7', 'application/pdf', 'attachment'],
        constructor: ['x', 'text/plain; charset=utf-8', 'inline'] as const,
        'x.constructor': ['x', 'text/plain; charset=utf-8', 'inline'],
        'unknown.bin': [Buffer.of(0, 1), 'application/octet-stream', 'attachment'],
        empty: ['', 'text/plain; charset=utf-8', 'inline'],
      }
      const node = await nodeWith(Object.fromEntries(Object.entries(types).map(([path, [content]]) => [path, content])))
      for (const [path, [, type, kind]] of Object.entries(types)) {
        const { status, headers, bytes } = await ask(rawOf(node, path))
        expect(status, path).to.equal(200)
        expect(bytes.equals(node.git.run(['cat-file', 'blob', `dev:${path}`])), path).to.equal(true)
        expect(headers.get('content-type'), path).to.equal(type)
        expect(headers.get('content-length'), path).to.equal(String(bytes.length))
        expect(headers.get('etag'), path).to.equal(`"${node.git.say('rev-parse', `dev:${path}`)}"`)
        expect(headers.get('content-disposition'), path).to.match(new RegExp(`^${kind}; filename=`))
        expect(headers.get('content-security-policy'), path).to.equal(policy)
        expect(headers.get('x-content-type-options'), path).to.equal('nosniff')
        expect(headers.get('accept-ranges'), path).to.equal('bytes')
      }
      const { headers } = await ask(rawOf(node, 'a "b"\t€.txt'))
      expect(headers.get('content-disposition')).to.equal(
        `inline; filename="a _b___.txt"; filename*=UTF-8''a%20%22b%22%09%E2%82%AC.txt`,
      )
    })

    it('are found with raw slashes, at a branch, a tag and a commit id, which alone is for ever', async () => {
      const node = await nodeWith({ 'files/a/b.txt': 'b\n' })
      const { git, at } = node
      const head = git.head('dev')
      git.say('tag', 'v1', head)
      git.point('feature/x', head)
      for (const [revision, caching] of [
        ['dev', 'private, no-cache'],
        ['v1', 'private, no-cache'],
        ['feature/x', 'private, no-cache'],
        [head, 'private, max-age=31536000, immutable'],
      ]) {
        const { status, headers, bytes } = await ask(`${at}/tree/${revision}/raw/files/a/b.txt`)
        expect([status, headers.get('cache-control'), bytes.toString()], revision).to.deep.equal([200, caching, 'b\n'])
      }
    })

    it('of a link are where it leads; a folder, a submodule and what is not there are 404', async () => {
      const node = await nodeWith({
        link: { mode: '120000', content: '../x' },
        sub: { mode: '160000', oid: 'a'.repeat(40) },
        'd/f': 'f',
      })
      expect((await ask(rawOf(node, 'link'))).bytes.toString()).to.equal('../x')
      for (const path of ['sub', 'd', 'd/', 'nope', '../d/f', 'd/../d/f', '\0'])
        expect(JSON.parse((await ask(rawOf(node, path))).bytes.toString()).code, path).to.equal('file_not_found')
      expect(JSON.parse((await ask(rawOf(node, 'd/f', 'nope'))).bytes.toString()).code).to.equal('branch_not_found')
    })

    it('are for the public of main and tags, and of the commits that these contain', async () => {
      const node = await aNode({ text_content: 'Public' })
      const old = await node.commit('main', { 'content.md': 'Newer' })
      await node.commit('main', { 'content.md': 'Newest' })
      const draft = await node.proposal('draft')
      await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
      const anybody = client(grove)
      const status = async (revision: string, path: string) => (await anybody.get(rawOf(node, path, revision))).status
      expect(await status('main', 'content.md')).to.equal(200)
      expect((await anybody.get(rawOf(node, 'content.md', old))).body).to.equal('Newer')
      expect(await status('draft', 'draft.txt')).to.equal(404)
      expect(await status(draft, 'draft.txt')).to.equal(404)
      await ann.patch(`/orgs/${ann.org}`, { published: false }).then(expecting(200))
      expect(await status('main', 'content.md')).to.equal(401)
    })
  })

  describe('a range of bytes', () => {
    // The second is streamed by git; the third is that from a pack.
    const contents = {
      small: randomBytes(1_000),
      large: randomBytes(3 * 1_048_576 + 17),
      packed: randomBytes(2_000_001),
    }
    let node: TestNode
    before(async () => {
      node = await nodeWith({ packed: contents.packed })
      node.git.say('repack', '-adq')
      node.git.point('dev', node.git.commit({ files: contents, parents: [node.git.head('dev')] }))
    })

    for (const name of ['small', 'large', 'packed'] as const) {
      const content = contents[name]
      const size = content.length

      it.deep(`of the ${name} file is 206, one beyond its end 416, and what is none of one is all of it`, async () => {
        const address = rawOf(node, name)
        const part = (from: number, to: number) =>
          [206, `bytes ${from}-${to - 1}/${size}`, content.subarray(from, to)] as const
        const whole = [200, null, content] as const
        const asked: Record<string, readonly [number, string | null, Buffer]> = {
          'bytes=0-0': part(0, 1),
          'bytes=10-19': part(10, 20),
          'bytes=5-': part(5, size),
          'bytes=-7': part(size - 7, size),
          [`bytes=-${size + 1_000}`]: part(0, size),
          [`bytes=${size - 1}-`]: part(size - 1, size),
          [`bytes=0-${size + 100}`]: part(0, size),
          'bytes=0-1,5-6': whole,
          'bytes=x': whole,
          'lines=1-2': whole,
        }
        for (const [range, [status, told, bytes]] of Object.entries(asked)) {
          const answer = await ask(address, { range })
          expect([answer.status, answer.headers.get('content-range')], range).to.deep.equal([status, told])
          expect(answer.bytes.equals(bytes), range).to.equal(true)
          expect(answer.headers.get('content-length'), range).to.equal(String(bytes.length))
        }
        const beyond = await ask(address, { range: `bytes=${size}-` })
        expect([beyond.status, beyond.headers.get('content-range')]).to.deep.equal([416, `bytes */${size}`])
        expect(JSON.parse(beyond.bytes.toString())).to.include({ code: 'range_not_satisfiable' })
        expect(beyond.headers.get('content-disposition')).to.equal(null)
      })
    }

    it('is what slicing the bytes gives, for any range', async () => {
      const size = contents.small.length
      const spaces = fc.constantFrom('', ' ')
      const number = fc.oneof(fc.nat({ max: size + 20 }), fc.constantFrom(0, 1, size - 1, size, size + 1, 2 ** 53))
      const range = fc.oneof(
        fc.record({ from: number, to: number }),
        fc.record({ from: number, to: fc.constant(undefined) }),
        fc.record({ from: fc.constant(undefined), to: number }),
      )
      await fc.assert(
        fc.asyncProperty(range, spaces, async ({ from, to }, space) => {
          const { status, bytes, headers } = await ask(rawOf(node, 'small'), {
            range: `bytes=${space}${from ?? ''}-${to ?? ''}`,
          })
          const [begin, end] =
            from === undefined ? [size - Math.min(size, to ?? 0), size] : [from, Math.min(size, (to ?? size) + 1)]
          // A range whose end is before its beginning is not valid, and ignored. Source: RFC 9110, 14.1.1.
          const isValid = from === undefined || to === undefined || to >= from
          const expected = isValid ? (begin >= size || begin >= end ? 416 : 206) : 200
          expect(status).to.equal(expected)
          const told = headers.get('content-range')
          const parts = { 200: null, 206: `bytes ${begin}-${end - 1}/${size}`, 416: `bytes */${size}` }
          expect(told).to.equal(parts[expected])
          const slice = expected === 200 ? contents.small : contents.small.subarray(begin, end)
          if (status !== 416) expect(bytes.equals(slice)).to.equal(true)
        }),
        { numRuns: runs(150) },
      )
    })

    it('is what curl gives for the same range of a file on disk', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'grove-range-'))
      try {
        await writeFile(join(folder, 'large'), contents.large)
        const curl = async (url: string, range: string) =>
          (
            await promisify(execFile)(
              'curl',
              ['-sS', '-f', '-r', range, '-H', `Authorization: Bearer ${ann.session.accessToken}`, url],
              { encoding: 'buffer', maxBuffer: 8 * 1_048_576 },
            )
          ).stdout
        for (const range of ['0-0', '1048575-1048577', '3145000-', '-17']) {
          const [ours, file] = await Promise.all([
            curl(grove.url + rawOf(node, 'large'), range),
            curl(`file://${join(folder, 'large')}`, range),
          ])
          expect(ours.equals(file), range).to.equal(true)
        }
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    })

    it('is given of the version that If-Range names, else the whole file', async () => {
      const address = rawOf(node, 'small')
      const etag = (await ask(address)).headers.get('etag') ?? ''
      const status = async (ifRange: string) => (await ask(address, { range: 'bytes=0-1', 'if-range': ifRange })).status
      expect(await status(etag)).to.equal(206)
      for (const other of ['"other"', `W/${etag}`, 'Wed, 21 Oct 2015 07:28:00 GMT'])
        expect(await status(other), other).to.equal(200)
    })

    it('of an empty file is 416, and HEAD and If-None-Match answer without bytes', async () => {
      const empty = await nodeWith({ empty: '' })
      expect((await ask(rawOf(empty, 'empty'), { range: 'bytes=0-' })).status).to.equal(416)
      const address = rawOf(node, 'large')
      const head = await ask(address, { range: 'bytes=0-9' }, 'HEAD')
      expect([head.status, head.bytes.length, head.headers.get('content-length')]).to.deep.equal([
        200,
        0,
        String(contents.large.length),
      ])
      const known = await ask(address, { 'if-none-match': head.headers.get('etag') ?? '' })
      expect([known.status, known.bytes.length, known.headers.get('content-security-policy')]).to.deep.equal([
        304,
        0,
        policy,
      ])
    })

    it('is 404 with a slash after the path, which is that of no file', async () => {
      const node = await nodeWith({ 'd/x.md': 'x' })
      for (const reader of ['raw', 'files', 'blame'])
        for (const path of ['content.md/', 'd/x.md/', 'd%2Fx.md%2F', 'd/']) {
          const { status, bytes } = await ask(`${node.at}/tree/dev/${reader}/${path}`)
          expect([status, JSON.parse(bytes.toString()).code], `${reader}/${path}`).to.deep.equal([
            404,
            'file_not_found',
          ])
        }
    })

    it.deep('leaves no git behind if a client goes in the middle', async () => {
      const huge = await nodeWith({ huge: randomBytes(24 * 1_048_576) })
      const headers = { authorization: `Bearer ${ann.session.accessToken}` }
      const request = get(grove.url + rawOf(huge, 'huge'), { headers })
      // It reads the headers alone, so that git waits for it.
      const [answer] = await once(request, 'response')
      expect(answer.statusCode).to.equal(200)
      const oid = huge.git.say('rev-parse', 'dev:huge')
      const isRead = async () =>
        (await commandsBelow(process.pid)).some((line) => line.endsWith(`cat-file blob ${oid}`))
      expect(await isRead()).to.equal(true)
      request.destroy()
      await until(async () => !(await isRead()))
    })
  })

  describe('all of this', leavesCleanRepositories)
})
