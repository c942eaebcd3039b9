/**
 * A transaction over 21 repositories whose process dies at a move, or at the release of a lock. Readers of another
 * process see no part of it, and recovery leaves all of it or nothing.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { awaitMoves } from '../../gitstore/refs/await-moves.ts'
import { recoverAll } from '../../gitstore/refs/ref-recovery.ts'
import { readRef } from '../../gitstore/refs/refs.ts'
import type { Store } from '../../gitstore/store.ts'
import { filesBelow, newDataDir } from '../support/data-folder.ts'
import { type Faults, prepareFaults } from '../support/faults.ts'
import { gitIn } from '../support/git.ts'
import { endAfterFile } from '../support/processes.ts'
import { type Random, randomOf } from '../support/random.ts'
import { until } from '../support/until.ts'
import { jointRefs, openJointStore } from './joint-mover.ts'

interface Scene {
  readonly root: string
  readonly store: Store
  readonly faults: Faults
  readonly random: Random
  /** All refs are at the first of these, or all at the second. */
  readonly commits: readonly [string, string]
}

export interface JointOutcome {
  readonly points: number
  /** Points at which a reader that waits for nothing sees a part, until recovery. */
  readonly torn: number
  /** Pairs of pages that readers have read. */
  readonly pairs: number
  readonly problems: string[]
}

/**
 * Kills the process at each move and each release. If `isAll` is false, at the first and last three of both, and at three
 * drawn ones. At every second point, it is the readers that recover. Ends with the first point that has a problem, because
 * the next ones begin with what it left.
 */
export async function judgeJointMoves(seed: number, isAll = true): Promise<JointOutcome> {
  const scene = await setScene(seed)
  const outcome = { points: 0, torn: 0, pairs: 0, problems: [] as string[] }
  try {
    const steps = await stepsOf(scene)
    const pointsOf = (kind: RegExp) => [...steps.keys()].filter((at) => kind.test(steps[at] ?? ''))
    const kinds = [pointsOf(/^rename .*\/run\/[^/]+\/\d+\/\d+$/), pointsOf(/^unlink .*\/refs\/.*\.lock$/)]
    const [moves = []] = kinds
    if (kinds.some(({ length }) => length !== jointRefs(scene.root).length))
      throw new Error(`Each ref has one move and one release, but the steps are:\n${steps.join('\n')}`)
    const chosen = kinds.flatMap((all) => (isAll ? all : some(all, scene.random)))
    for (const [at, point] of chosen.entries()) {
      if (outcome.problems.length > 0) break
      const found = await judgePoint(scene, point + 1, { isMoved: point > (moves[0] ?? 0), hasReaders: at % 2 === 0 })
      outcome.points++
      outcome.torn += Number(found.isTorn)
      outcome.pairs += found.pairs
      for (const problem of found.problems) outcome.problems.push(`KILL at ${steps[point]}: ${problem}`)
    }
    return outcome
  } finally {
    await scene.faults.remove()
    await rm(scene.root, { recursive: true, force: true })
  }
}

function some(points: readonly number[], random: Random): number[] {
  const drawn = random.shuffled(points.slice(3, -3)).slice(0, 3)
  return [...points.slice(0, 3), ...drawn, ...points.slice(-3)]
}

async function setScene(seed: number): Promise<Scene> {
  const root = await newDataDir()
  const names = new Set(jointRefs(root).map(({ repo }) => basename(repo.dir, '.git')))
  await mkdir(join(root, 'org'))
  let commits: Scene['commits'] = ['', '']
  for (const name of names) {
    const git = gitIn({ dataDir: root }, 'org', name)
    git.run(['init', '-q', '--bare', git.dir])
    // The ids are the same in all repositories.
    const first = git.commit({ message: 'First' })
    commits = [first, git.commit({ message: 'Second', parents: [first] })]
  }
  const scene = { root, store: await openJointStore(root), faults: prepareFaults(), random: randomOf(seed), commits }
  await moved(scene, commits[0], () => scene.faults.none())
  return scene
}

/** Runs the transaction in a process of its own, and resolves when that has ended. */
async function moved(scene: Scene, to: string, begin: () => Promise<void>): Promise<void> {
  const program = new URL('joint-mover.ts', import.meta.url).pathname
  const words = ['--import', 'tsx', program, scene.root, to]
  const child = endAfterFile(
    spawn(process.execPath, words, {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ...scene.faults.environment },
    }),
  )
  const ended = once(child, 'exit')
  await Promise.race([once(child.stdout, 'data'), ended])
  await begin()
  child.stdin.write('go')
  await ended
  await scene.faults.none()
}

/** The steps of the transaction, as faults.cc names them. */
async function stepsOf(scene: Scene): Promise<string[]> {
  const { faults, store } = scene
  await moved(scene, scene.commits[1], () => faults.ask('LOG 0'))
  await recoverAll(store, fail)
  return faults.logged()
}

async function judgePoint(
  scene: Scene,
  step: number,
  { isMoved, hasReaders }: { readonly isMoved: boolean; readonly hasReaders: boolean },
) {
  const { root, store, commits, faults } = scene
  const problems: string[] = []
  const [from] = stateOf(root)
  const to = commits.find((commit) => commit !== from) ?? ''
  let isEnded = false
  const readers = hasReaders ? [1, 2].map(() => readPairs(scene, to, () => isEnded)) : []
  await moved(scene, to, () => faults.ask(`KILL ${step}`))
  const isTorn = !hasReaders && stateOf(root).length > 1
  isEnded = true
  const read = await Promise.all(readers)
  problems.push(...read.flatMap((one) => one.torn))
  if (hasReaders && stateOf(root).length > 1) problems.push('readers have waited for all pages, and see a part')
  await recoverAll(store, (error) => problems.push(`recovery failed: ${error}`))
  const state = stateOf(root)
  if (state.length > 1) problems.push('a part of the moves is left after recovery')
  else if (state[0] !== (isMoved ? to : from)) problems.push(`it was ${isMoved ? 'undone' : 'finished'}`)
  const locks = (await filesBelow(join(root, 'org'))).filter((path) => path.endsWith('.lock'))
  problems.push(...locks.map((lock) => `${lock} is left`))
  // Recovery by a reader leaves this to a timer.
  await until(() => readdirSync(store.run).join() === store.process)
  return { isTorn, pairs: read.reduce((sum, { pairs }) => sum + pairs, 0), problems }
}

/** The different commits that refs are at. */
function stateOf(root: string): (string | null)[] {
  return [...new Set(jointRefs(root).map(({ repo, ref }) => readRef(repo, ref)))]
}

/** Reads pairs of pages until the mover has ended, and then each page once. */
async function readPairs({ root, store, random }: Scene, to: string, isEnded: () => boolean) {
  const refs = jointRefs(root)
  const mains = refs.filter(({ ref }) => ref === 'refs/heads/main')
  const torn: string[] = []
  let pairs = 0
  const waitAndRead = async (name: (typeof refs)[number]) => {
    await awaitMoves(store, name)
    return readRef(name.repo, name.ref)
  }
  const readPair = async (one: (typeof refs)[number], other: (typeof refs)[number]) => {
    pairs++
    if ((await waitAndRead(one)) !== to) return
    await awaitMoves(store, other)
    const late = refs.filter(({ repo, ref }) => repo.dir === other.repo.dir && readRef(repo, ref) !== to)
    for (const { repo, ref } of late) torn.push(`a reader saw ${one.repo.dir} moved, and then not ${repo.dir} ${ref}`)
  }
  for (; !isEnded() && torn.length === 0; await nextTurn()) await readPair(random.pick(mains), random.pick(mains))
  for (const main of mains) await readPair(main, random.pick(mains))
  return { torn, pairs }
}

function fail(error: unknown): never {
  throw error
}
