/** Storage that fails under git's remotes: what a clone and a push are told, and that nothing is promised that is not kept. */

import { existsSync } from 'node:fs'
import { readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectSettled, expectSound, newDataDir } from '../support/data-folder.ts'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { type Fault, type Faults, prepareFaults } from '../support/faults.ts'
import { looseFile } from '../support/git.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { type HeldChecks, heldChecks } from '../support/preload.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

describe('git: storage that fails', () => {
  let faults: Faults
  let checks: HeldChecks
  let grove: SpawnedGrove
  let ann: PersonClient
  let node: TestNode
  let neighbour: TestNode
  let desk: Desk

  beforeEach(async () => {
    faults = prepareFaults()
    checks = heldChecks()
    grove = await spawnGrove(await newDataDir(), { ...faults.environment, ...checks.environment })
    ann = await signUp(grove, 'Ann')
    node = await newNode(grove, ann, { text_content: 'Whales sing\n' })
    neighbour = await newNode(grove, ann, { text_content: 'A calf\n' })
    desk = await newDesk()
  })
  afterEach(async () => {
    await grove?.kill()
    await rm(grove.dataDir, { recursive: true, force: true })
    await desk.remove()
    await faults.remove()
  })

  const url = ({ id, org }: TestNode) => remoteUrl(grove, org, id, ann.session.accessToken)

  /** A new commit in the clone `whales`, pushed to the branch. */
  async function push(branch: string) {
    const said = await desk.sh(
      `cd whales; echo ${branch} > ${branch}.txt; git add -A; git commit -q --allow-empty -m ${branch}; git push --porcelain ${url(node)} HEAD:refs/heads/${branch}`,
    )
    expect(said.text).to.not.include(grove.dataDir)
    return said
  }

  /** Pushes to the branch until that is done. */
  async function pushAgain(branch: string): Promise<void> {
    checks.release()
    await until(async () => (await push(branch)).code === 0)
  }

  for (const [what, object] of [
    ['a file', 'main:lost.txt'],
    ['a folder', 'main:deep'],
    ['the commit', 'main'],
  ] as const)
    it(`a repository that lacks ${what} is not cloned, and says nothing of where it is; its neighbours are`, async () => {
      await node.commit('main', { 'lost.txt': 'Lost\n', 'deep/song.txt': 'A song\n' })
      const oid = node.git.say('rev-parse', object)
      await rm(looseFile(node.git, oid))
      const { code, text } = await desk.sh(`git clone ${url(node)} lost`)
      expect(code, text).to.equal(128)
      expect(text).to.not.include(grove.dataDir)
      expect(text).to.not.include('/objects/')
      await desk.done(`git clone -q ${url(neighbour)} calf; cat calf/content.md`)
      expect((await ann.get(neighbour.at)).status).to.equal(200)
      if (object !== 'main:lost.txt') return
      const read = await ann.get(`${node.at}/tree/main/files/lost.txt`)
      expect([read.status, read.body.code]).to.deep.equal([503, 'repo_damaged'])
    })

  it('a push whose syncs fail is refused, and its repository readable only until a check has synced it', async () => {
    await desk.done(`git clone -q ${url(node)} whales`)
    checks.hold()
    await faults.ask('SYNC 0')
    const failed = await push('songs')
    expect(failed.code).to.equal(1)
    expect(failed.text).to.include('[remote rejected] (the storage failed; fetch before you push again)')
    expect(node.git.lines('branch', '--list', 'songs')).to.deep.equal([])
    await faults.none()
    const early = await push('songs')
    expect(early.code).to.equal(128)
    expect(early.text).to.include('The storage failed')
    expect((await ann.get(node.at)).status).to.equal(200)
    await desk.done(`git clone -q ${url(node)} read; cat read/content.md`)
    await pushAgain('songs')
    expect(node.git.head('songs')).to.equal((await desk.done('git -C whales rev-parse HEAD')).trim())
    await until(() => grove.output().stderr.includes('a sync failed'))
    await expectSound(grove.dataDir)
  })

  for (const [what, fault] of [
    ['full', 'FULL 0'],
    ['read-only', 'READONLY 0'],
  ] as const)
    it(`a push to a disk that is ${what} is refused, and done later`, async () => {
      await desk.done(`git clone -q ${url(node)} whales`)
      await faults.ask(fault)
      const { code, text } = await push('songs')
      expect(code).to.equal(1)
      expect(text).to.match(
        /\[remote rejected\] \((the disk is full|the storage is read-only); fetch before you push again\)/,
      )
      expect(node.git.lines('branch', '--list', 'songs')).to.deep.equal([])
      await desk.done(`git clone -q ${url(node)} read; cat read/content.md`)
      await faults.none()
      expect((await push('songs')).code).to.equal(0)
      await expectSound(grove.dataDir)
    })

  it('a push in which any one step fails moves its ref or not, says that it did only if so, and can be repeated', async () => {
    await desk.done(`git clone -q ${url(node)} whales`)
    const steps: string[] = []
    for (let n = 1; ; n++) {
      const branch = `step-${n}`
      // Each folder of loose objects is a step.
      node.git.say('repack', '-adq')
      checks.hold()
      await faults.ask(`EIO ${n} ${node.id}`)
      const { code, text } = await push(branch)
      const [step] = await faults.logged()
      await faults.none()
      if (step === undefined) {
        expect(code, text).to.equal(0)
        break
      }
      steps.push(step)
      const there = node.git.lines('branch', '--list', branch).length > 0
      if (code === 0) expect(there, `${step}: ${text}`).to.equal(true)
      else if (/sync/.test(step)) expect((await push(branch)).text, step).to.include('The storage failed')
      await pushAgain(branch)
      const shown = (await ann.get(`${node.at}/branches/${branch}`)).body
      expect(shown.head, step).to.equal(node.git.head(branch))
    }
    expect(steps.length).to.be.greaterThan(4)
    await expectSound(grove.dataDir)
  })

  it('the mark of a push that could not be removed goes once the disk works, without a further push', async () => {
    await desk.done(`git clone -q ${url(node)} whales`)
    let pushes = 0
    const isRemoval = (step: string) => /^rmdir .*\/push-\d+$/.test(step)
    const stepsUnder = async (fault: Fault) => {
      // Each folder of loose objects is a step.
      node.git.say('repack', '-adq')
      await faults.ask(fault)
      await push(`branch-${++pushes}`)
      const steps = await faults.logged()
      await faults.none()
      return steps
    }
    // The removal may come after the answer, and then the fault is over.
    await until(async () => {
      const steps = await stepsUnder(`LOG 0 ${node.id}`)
      const removal = steps.findIndex(isRemoval)
      const [failed] = removal < 0 ? [] : await stepsUnder(`EIO ${removal + 1} ${node.id}`)
      return failed !== undefined && isRemoval(failed)
    })
    await expectSettled(grove.dataDir)
  })

  it('what git marks the pack of a push with goes once nobody can be at it; what an operator marks a pack with stays', async () => {
    node.git.say('repack', '-adq')
    const [pack = ''] = (await readdir(join(node.git.dir, 'objects/pack'))).filter((name) => name.endsWith('.pack'))
    const mark = (name: string) => join(node.git.dir, 'objects/pack', name.replace(/pack$/, 'keep'))
    const other = mark(`pack-${'0'.repeat(40)}.pack`)
    const long = new Date(Date.now() - 3 * 3_600_000)
    await grove.stop()
    await writeFile(mark(pack), 'receive-pack 17 on whales\n')
    await writeFile(other, '')
    for (const path of [mark(pack), other]) await utimes(path, long, long)
    grove = await spawnGrove(grove.dataDir, faults.environment)
    await until(() => !existsSync(mark(pack)))
    expect([existsSync(mark(pack)), existsSync(other)]).to.deep.equal([false, true])
  })
})
