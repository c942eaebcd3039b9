import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { flush, pktLine } from '../../gitstore/transfer/pkt-line.ts'
import { commandsBelow, residentMemory } from '../bench/processes.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Desk, newDesk, openService, remoteUrl } from '../support/desk.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

describe('git: clients that mean harm, or vanish', () => {
  let dataDir: string
  let grove: SpawnedGrove
  let ann: PersonClient
  let node: TestNode
  let desk: Desk
  let REMOTE: string

  before(async () => {
    dataDir = await newDataDir()
    grove = await spawnGrove(dataDir)
    ann = await signUp(grove, 'Ann')
    node = await newNode(grove, ann)
    desk = await newDesk()
    REMOTE = remoteUrl(grove, node.org, node.id, ann.session.accessToken)
    await desk.done('git clone -q $REMOTE whales', { REMOTE })
  })
  after(async () => {
    await desk.remove()
    expect(await grove.stop()).to.equal(0)
    await rm(dataDir, { recursive: true, force: true })
  })
  afterEach(async () => {
    await noGitLeft()
    node.git.fsck()
    expect(node.git.lines('for-each-ref', '--format=%(refname)')).to.deep.equal([
      'refs/grove/ledger',
      'refs/heads/main',
    ])
    // The folder of a git that had to be killed, on a busy machine, is removed after its end.
    await until(() => readdirSync(join(node.git.dir, 'objects')).every((name) => !name.startsWith('tmp_objdir')))
  })

  /** The services of git that run below the service. */
  async function gits(): Promise<string[]> {
    return (await commandsBelow(grove.pid)).filter((line) => /upload-pack|receive-pack/.test(line))
  }

  async function noGitLeft(): Promise<void> {
    await until(async () => (await gits()).length === 0)
  }

  interface Raw {
    readonly status: number
    readonly body: string
  }

  type Service = 'git-upload-pack' | 'git-receive-pack'

  const opened = (service: Service, headers: Record<string, string> = {}) =>
    openService(grove, node, ann.session.accessToken, service, headers)

  /** One request, whose body may be anything, also without end: it is cut off once the answer is there. */
  async function raw(service: Service, body: Iterable<Buffer>, headers: Record<string, string> = {}): Promise<Raw> {
    const sending = opened(service, headers)
    const answer = new Promise<Raw>((resolve, reject) => {
      sending.on('error', reject)
      sending.on('response', (response) => {
        text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject)
      })
    })
    Readable.from(body).pipe(sending)
    return answer.finally(() => sending.destroy())
  }

  const zero = '0'.repeat(40)
  const command = (ref: string, to = node.git.head(), from = zero) =>
    Buffer.concat([pktLine(`${from} ${to} ${ref}\0 report-status`), flush])
  const pack = (...oids: string[]) => node.git.run(['pack-objects', '--stdout', '-q'], { input: oids.join('\n') })

  it('name refs that lead out of the repository', async () => {
    for (const ref of [
      'refs/heads/../../../../evil',
      'refs/heads/../config',
      'HEAD',
      'packed-refs',
      '../x',
      'refs/heads/x.lock',
      'refs/heads/a\x01b',
    ]) {
      const { body } = await raw('git-receive-pack', [command(ref), pack()])
      expect(body, ref).to.match(/ng /)
    }
    expect(readdirSync(dataDir).filter((name) => /evil|lock/.test(name))).to.deep.equal([])
  })

  it('name one ref twice in an atomic push', async () => {
    const head = node.git.head()
    const line = (more: string) => pktLine(`${zero} ${head} refs/heads/twice${more}`)
    const { body } = await raw('git-receive-pack', [
      Buffer.concat([line('\0 report-status atomic'), line(''), flush, pack()]),
    ])
    expect(body).to.match(/ng refs\/heads\/twice/)
  })

  it('send a pack that is cut off, is not a pack, or lacks objects', async () => {
    await desk.done('cd whales; git checkout -q --detach; echo x > x; git add x; git commit -q -m x')
    const head = (await desk.done('git -C whales rev-parse HEAD')).trim()
    const whole = execFileSync('git', ['-C', join(desk.dir, 'whales'), 'pack-objects', '--stdout', '-q', '--revs'], {
      input: head,
      stdio: 'pipe',
    })
    const alone = execFileSync('git', ['-C', join(desk.dir, 'whales'), 'pack-objects', '--stdout', '-q'], {
      input: head,
      stdio: 'pipe',
    })
    for (const bytes of [whole.subarray(0, whole.length / 2), Buffer.from('PACK no pack'), Buffer.alloc(0), alone]) {
      const { body } = await raw('git-receive-pack', [command('refs/heads/cut', head), bytes])
      expect(body).to.match(/unpack (?!ok)|ng refs\/heads\/cut/)
      expect(body).to.not.include(dataDir)
    }
  })

  it('send what is not pkt-lines, or not gzip', async () => {
    for (const bytes of [Buffer.from('zzzz'), Buffer.from('0003'), Buffer.alloc(10_000, 'f'), Buffer.from('ffff')])
      for (const service of ['git-upload-pack', 'git-receive-pack'] as const) {
        const { status, body } = await raw(service, [bytes])
        expect(status, body).to.be.oneOf([200, 400, 413, 500])
        expect(body).to.not.include(dataDir)
      }
    expect(
      (await raw('git-receive-pack', [Buffer.from('no gzip')], { 'content-encoding': 'gzip' })).body,
    ).to.not.include(dataDir)
    expect((await raw('git-upload-pack', [Buffer.from('x')], { 'content-encoding': 'br' })).status).to.equal(415)
  })

  it.deep('send refs or wants without end', async () => {
    function* endless(line: Buffer, bytes: number) {
      const many = Buffer.alloc(1_000 * line.length, line)
      for (let sent = 0; sent < bytes; sent += many.length) yield many
    }
    const push = raw('git-receive-pack', endless(pktLine(`${zero} ${node.git.head()} refs/heads/x`), 64 * 1024 ** 2))
    expect((await push.catch(() => ({ body: '' }))).body).to.not.include('ok refs')
    const want = pktLine(`want ${node.git.head()}\n`)
    const bomb = gzipSync(Buffer.alloc(2_000_000 * want.length, want))
    expect(bomb.length).to.be.below(1_000_000)
    const fetched = await raw('git-upload-pack', [bomb], { 'content-encoding': 'gzip' })
    expect(fetched.body).to.not.include('PACK')
  })

  it.deep('send 0.4 MB that inflate to 400: refused, with the memory of the service where it was', async () => {
    await desk.done(
      `cd whales; git checkout -q --detach main; head -c 400000000 /dev/zero > bomb; git -c core.bigFileThreshold=1m add bomb; git commit -q -m Bomb; rm bomb`,
    )
    let most = 0
    const before = await residentMemory(grove.pid)
    const watch = setInterval(
      () =>
        void residentMemory(grove.pid).then(
          (now) => {
            most = Math.max(most, now)
          },
          () => undefined,
        ),
      20,
    )
    const { text: said } = await desk.sh('cd whales; git push $REMOTE HEAD:refs/heads/bomb', { REMOTE })
    clearInterval(watch)
    expect(said).to.include('has 400000000 bytes; at most 104857600 are possible')
    expect(most - before).to.be.below(100 * 2 ** 20)
    await desk.done('cd whales; git checkout -q main; git reflog expire --expire=now --all; git gc -q --prune=now')
  })

  it('offer push options, replacements and other refs of git', async () => {
    const { text: said } = await desk.sh('cd whales; git push -o please $REMOTE HEAD:refs/heads/option', { REMOTE })
    expect(said).to.include('does not support push options')
    const replaced = await desk.sh('cd whales; git push $REMOTE HEAD:refs/replace/$(git rev-parse HEAD)', { REMOTE })
    expect(replaced.text).to.include('only branches and tags can be pushed (refs/heads/ and refs/tags/)')
  })

  it.deep('hold names that are .git to some file system', async () => {
    for (const name of ['.GIT', 'git~1', '.git\u200c']) {
      const { text: said } = await desk.sh(
        `cd whales; tree=$(printf '100644 blob %s\\t%s\\n' $(echo x | git hash-object -w --stdin) "$NAME_OF_FILE" | git mktree)
         commit=$(git commit-tree $tree -m Bad); git push $REMOTE $commit:refs/heads/bad`,
        { REMOTE, NAME_OF_FILE: name },
      )
      expect(said, name).to.match(/hasDotgit|contains '\.git'|\.git/)
      expect(said).to.include('! [remote rejected]')
    }
  })

  it('vanish in the middle of a push or a clone: their git ends', async () => {
    const sending = opened('git-receive-pack')
    sending.on('error', () => undefined)
    sending.write(command('refs/heads/vanished', 'a'.repeat(40)))
    sending.write(Buffer.from('PACK'))
    await until(async () => (await gits()).length > 0)
    expect(await gits()).to.have.length(1)
    sending.destroy()
    await noGitLeft()
  })
})
