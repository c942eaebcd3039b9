/** Requests are checked before Git reads them: bounded in size, and in Git's protocol. */

import childProcess from 'node:child_process'
import { rm } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { delimiter, flush, pktLine } from '../../gitstore/transfer/pkt-line.ts'
import { residentMemory } from '../bench/processes.ts'
import { newDataDir } from '../support/data-folder.ts'
import { askGit, type GitRequest } from '../support/git-requests.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { useWorld } from '../support/world.ts'

describe('git: requests', () => {
  describe('of a service as npm start runs it', () => {
    let grove: SpawnedGrove
    let ann: PersonClient
    let node: TestNode

    before(async () => {
      grove = await spawnGrove(await newDataDir())
      ann = await signUp(grove, 'Ann')
      node = await newNode(grove, ann)
      await ann.patch(`/orgs/${node.org}`, { published: true })
    })
    after(async () => {
      expect(await grove.stop()).to.equal(0)
      await rm(grove.dataDir, { recursive: true, force: true })
    })

    /** Gzip's members follow one another as their contents do: 1 MiB of frames, again and again. */
    function bomb(frame: Buffer, mebibytes: number): Buffer {
      const member = gzipSync(Buffer.alloc(Math.floor(2 ** 20 / frame.length) * frame.length, frame))
      return Buffer.concat(Array.from({ length: mebibytes }, () => member))
    }

    const bombs: Record<string, { frame: Buffer; request: GitRequest; start?: readonly Buffer[] }> = {
      'wants in v2': {
        frame: pktLine(`want ${'a'.repeat(40)}`),
        request: { version: 2 },
        start: [pktLine('command=fetch'), delimiter],
      },
      'wants in v0': { frame: pktLine(`want ${'a'.repeat(40)}`), request: { version: 0 } },
      'prefixes of refs': {
        frame: pktLine('ref-prefix a'),
        request: { version: 2 },
        start: [pktLine('command=ls-refs'), delimiter],
      },
      'refs of a push': {
        frame: pktLine(`${'0'.repeat(40)} ${'a'.repeat(40)} refs/heads/x`),
        request: { service: 'git-receive-pack' },
      },
    }
    for (const [what, { frame, request, start = [] }] of Object.entries(bombs)) {
      it(`that inflate to 300 MiB of ${what} are refused, with the memory of the service where it was`, async () => {
        const token = request.service === undefined ? undefined : ann.session.accessToken
        const before = await residentMemory(grove.pid)
        const { status, body } = await askGit(grove, node, [gzipSync(Buffer.concat(start)), bomb(frame, 300)], {
          ...request,
          ...(token === undefined ? {} : { token }),
          headers: { 'content-encoding': 'gzip' },
        })
        expect(`${status} ${body}`).to.equal('413 This is too large for the service to read\n')
        expect((await client(grove).get('/healthz')).status).to.equal(200)
        expect((await residentMemory(grove.pid)) - before).to.be.below(200 * 2 ** 20)
      })
    }

    it('that are not of git’s protocol are 400 with the reason, and no line of the log', async () => {
      const oid = node.git.head()
      const v2 = (...lines: (string | Buffer)[]) => ['command=fetch', delimiter, ...lines, flush]
      const bad: [request: GitRequest, frames: readonly (string | Buffer)[]][] = [
        [{}, []],
        [{}, [Buffer.from('zzzz')]],
        [{}, [Buffer.from('0003')]],
        [{}, [Buffer.from('ffff')]],
        [{}, ['command=fetch', delimiter, `want ${oid}`]],
        [{}, ['command=bundle-uri', flush]],
        [{}, ['command=fetch', 'command=fetch', delimiter, flush]],
        [{}, ['command=fetch', 'object-format=sha256', delimiter, flush]],
        [{}, ['agent=x', flush]],
        [{}, ['ERR no', flush]],
        [{}, v2('')],
        [{}, v2(`want ${oid.slice(1)}`)],
        [{}, v2(`want ${oid}0`)],
        [{}, v2(`want ${oid}\0`)],
        [{}, v2(`want\t${oid}`)],
        [{}, v2('want-ref refs/heads/main')],
        [{}, v2('sideband-all')],
        [{}, v2('packfile-uris https')],
        [{}, v2('deepen 0')],
        [{}, v2('deepen 0x7')],
        [{}, v2('deepen 1', 'deepen-since 1')],
        [{}, v2('deepen-since yesterday')],
        [{}, v2('filter blob:none', 'filter tree:0')],
        [{}, v2(`shallow ${oid} `)],
        [{}, v2(Buffer.from('0007\xff\xfe\n', 'latin1'))],
        [{}, v2(Buffer.from('0002'))],
        [{}, ['command=ls-refs', delimiter, `want ${oid}`, flush]],
        [{ version: 0 }, []],
        [{ version: 0 }, v2(`want ${oid}`, 'done')],
        [{ version: 0 }, [`want ${oid.slice(1)}`, flush, 'done']],
        [{ version: 0 }, [`want ${oid}`, flush, `have ${oid}`]],
        [{ version: 0 }, [`want ${oid}`, flush, 'have it', flush]],
        [{ version: 0 }, [`want ${oid}`, 'filter blob:none', flush, 'done']],
        [{ version: 1 }, [`want ${oid}`, delimiter, 'done']],
        [{ headers: { 'content-encoding': 'gzip' } }, [Buffer.from('no gzip')]],
        [{ service: 'git-receive-pack' }, []],
        [{ service: 'git-receive-pack' }, ['push-cert', flush]],
        [{ service: 'git-receive-pack' }, [`${oid} ${oid}`, flush]],
        [{ service: 'git-receive-pack' }, [`${oid} ${oid} refs/heads/x`]],
      ]
      for (const [request, frames] of bad) {
        const { status, body } = await askGit(grove, node, frames, { ...request, token: ann.session.accessToken })
        expect(status, `${frames} ${body}`).to.equal(400)
        expect(body.toString()).to.match(/^[\x20-\x7e]+\n$/)
      }
      expect(grove.output().stderr).to.equal('')
    })

    it('that ask for nothing are answered with nothing', async () => {
      const { accessToken: token } = ann.session
      for (const request of [{}, { version: 0 }, { service: 'git-receive-pack' }] as const)
        expect(await askGit(grove, node, [flush], { ...request, token })).to.deep.equal({
          status: 200,
          body: Buffer.alloc(0),
        })
    })

    it('with a thousand prefixes and one more list every ref, as with none', async () => {
      const listed = async (count: number) => {
        const prefixes = Array.from({ length: count }, (_, n) => `ref-prefix refs/heads/${n}`)
        return `${(await askGit(grove, node, ['command=ls-refs', delimiter, ...prefixes, flush])).body}`
      }
      expect(await listed(1_000)).to.not.include('refs/heads/main')
      expect(await listed(1_001)).to.include('refs/heads/main')
    })
  })

  describe('of a service in this process', () => {
    const { grove, ann } = useWorld({ ann: 'owner' }, { rateLimit: true })
    let node: TestNode
    const spawn = childProcess.spawn

    before(async () => {
      node = await newNode(grove, ann)
    })
    afterEach(() => replaceSpawn(spawn))

    function replaceSpawn(by: unknown): void {
      childProcess.spawn = by as typeof spawn // a stand-in for the test
      syncBuiltinESMExports()
    }

    it('for which the machine has no process left are 503 with Retry-After, and a report for a push', async () => {
      replaceSpawn((_command: string, args: readonly string[], options: childProcess.SpawnOptions) => {
        const child = spawn('/nonexistent', args, options)
        // The first to hear of it makes it the fault that all others see.
        child.once('error', (error) => Object.assign(error, { code: 'EAGAIN' }))
        return child
      })
      const path = `/git/${node.org}/${node.id}.git/info/refs?service=git-receive-pack`
      const { status, headers } = await ann.get(path)
      expect([status, Number(headers['retry-after']) > 0]).to.deep.equal([503, true])
      const fetched = await askGit(grove, node, ['command=ls-refs', delimiter, flush], {
        token: ann.session.accessToken,
      })
      expect(fetched.status).to.equal(503)
      const line = `${'0'.repeat(40)} ${node.git.head()} refs/heads/x\0 report-status`
      const pushed = await askGit(grove, node, [line, flush], {
        ...{ service: 'git-receive-pack', token: ann.session.accessToken },
      })
      expect(pushed.status).to.equal(200)
      expect(pushed.body.toString()).to.include('ng refs/heads/x Another write is in progress; try again in a moment\n')
    })

    it('count against the limit of their address before anybody is asked who they are', async () => {
      const nobody = client(grove)
      const left = async (path: string, headers: Record<string, string> = {}) => {
        const answer = await nobody.get(path, headers)
        return { status: answer.status, left: Number(/r=(\d+)/.exec(answer.headers.ratelimit ?? '')?.[1]) }
      }
      const path = `/git/${node.org}/${node.id}.git/info/refs?service=git-upload-pack`
      const first = await left(path)
      const second = await left(path, { authorization: 'Bearer grv_bad' })
      const third = await left('/git/nothing')
      expect([first.status, second.status, third.status]).to.deep.equal([401, 401, 404])
      expect(first.left).to.be.above(0)
      expect([second.left, third.left]).to.deep.equal([first.left - 1, first.left - 2])
    })
  })
})
