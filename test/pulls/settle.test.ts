/** The rule of what moved branches mean for pull requests, against an oracle that says it as the contract does. */

import { expect } from 'chai'
import fc from 'fast-check'
import type { PullRecord } from '../../server/domain/ledger/ledger.ts'
import { movesBetween, questionsOf, type Reconciled, reconcile } from '../../server/domain/ledger/reconcile.ts'
import { runs } from '../support/seed.ts'

const names = ['main', 'a', 'b', 'c', 'd'] as const
const commits = 8
const ann = { name: 'Ann', email: 'ann@example.org' }
const bob = { name: 'Bob', email: 'bob@example.org' }
const at = '2026-01-02T00:00:00.000Z'
const via = { door: 'push', by: 'token', id: '01980a5e-7c44-7c3d-8b21-9d0e1f2a3b4c' } as const

type Heads = Map<string, string>

interface World {
  /** The parents of each commit, of lower numbers. */
  readonly parents: readonly (readonly number[])[]
  readonly before: Heads
  readonly after: Heads
  readonly open: readonly PullRecord[]
}

const headsArbitrary: fc.Arbitrary<Heads> = fc
  .tuple(...names.map(() => fc.option(fc.nat(commits - 1), { freq: 4 })))
  .map((heads) => new Map(heads.flatMap((head, n) => (head === null ? [] : [[names[n] ?? '', oidOf(head)] as const]))))

const openArbitrary: fc.Arbitrary<PullRecord[]> = fc
  .uniqueArray(
    fc
      .tuple(fc.constantFrom(...names), fc.constantFrom(...names), fc.boolean())
      .filter(([source, target]) => source !== target),
    { selector: ([source, target]) => `${source} ${target}`, maxLength: 12 },
  )
  .map((requests) => requests.map(([source, target, draft], n) => request(n + 1, source, target, draft)))

const worldArbitrary: fc.Arbitrary<World> = fc.record({
  parents: fc.tuple(
    ...Array.from({ length: commits }, (_, n) => fc.subarray([...Array(n).keys()], { maxLength: Math.min(2, n) })),
  ),
  before: headsArbitrary,
  after: headsArbitrary,
  open: openArbitrary,
})

describe('what moved and deleted branches mean for pull requests', () => {
  it('is what the rules say of each request', () => {
    check((world) => {
      const { open } = world
      const ends = new Map(open.map((record) => [record.number, outcomeOf(record)]))
      for (const { record } of settled(world).events) ends.set(record.number, outcomeOf(record))
      expect(Object.fromEntries(ends)).to.deep.equal(Object.fromEntries(oracle(world)))
    })
  })

  it('leaves nothing open without its branches, or for a pair twice, and merges no draft', () => {
    check((world) => {
      const left = openAfter(world, settled(world).events)
      const pairs = left.map(({ source_branch, target_branch }) => [source_branch, target_branch])
      for (const [source, target] of pairs) {
        expect(world.after.has(source ?? '') && world.after.has(target ?? '')).to.equal(true)
        expect(source).not.to.equal(target)
      }
      expect(new Set(pairs.map(String)).size).to.equal(pairs.length)
      const merged = settled(world).events.filter(({ kind }) => kind === 'merge')
      expect(merged.some(({ record }) => record.is_draft)).to.equal(false)
    })
  })

  it('keeps the head of every request that it closes, and of no other', () => {
    check((world) => {
      const { events, pins } = settled(world)
      const closed = events.filter(({ kind }) => kind === 'close').map(({ record }) => record)
      expect(pins).to.deep.equal(closed.map(({ number, source_commit }) => ({ number, head: source_commit })))
      for (const { source_branch, source_commit } of closed)
        expect(source_commit).to.equal(world.after.get(source_branch) ?? world.before.get(source_branch) ?? oidOf(99))
    })
  })

  it('is settled once: the same moves cause no event afterwards', () => {
    check((world) => {
      const open = openAfter(world, settled(world).events)
      expect(settled({ ...world, open }).events).to.deep.equal([])
    })
  })

  it('does not depend on the order in which requests come', () => {
    check((world) => {
      const open = [...world.open].reverse()
      expect(settled({ ...world, open })).to.deep.equal(settled(world))
    })
  })

  it('is recorded with who moved the branches, and when', () => {
    check((world) => {
      for (const { kind, record } of settled(world).events) {
        expect([record.by, record.at, record.via]).to.deep.equal([ann, at, via])
        expect(record.ended).to.deep.equal(kind === 'edit' ? undefined : { by: ann, at, via })
      }
    })
  })
})

function check(holds: (world: World) => void): void {
  fc.assert(fc.property(worldArbitrary, holds), { numRuns: runs(1_000) })
}

function settled(world: World) {
  const { open, before, after } = world
  const moves = movesBetween(byRef(before), byRef(after), open, false)
  const situation = { open, moves, headOf: (branch: string) => after.get(branch) ?? null }
  const questions = questionsOf(situation)
  const tookIn = (target: string, head: string) => {
    if (!questions.get(target)?.has(head)) throw new Error(`Nobody said that ${head} would be asked of ${target}`)
    return reached(world, after.get(target)).has(head) && !reached(world, before.get(target)).has(head)
  }
  return reconcile({ ...situation, tookIn, by: () => ann, at, via })
}

function openAfter({ open }: World, events: readonly Reconciled[]): PullRecord[] {
  const records = new Map(open.map((record) => [record.number, record]))
  for (const { record } of events) records.set(record.number, record)
  return [...records.values()].filter(({ status }) => status === 'open')
}

interface Outcome {
  status: string
  target: string
}

function outcomeOf({ status, target_branch }: PullRecord): Outcome {
  return { status, target: target_branch }
}

/** The pull request rules of the contract, sentence by sentence, over the two states. */
function oracle(world: World): Map<number, Outcome> {
  const { open, before, after } = world
  const ends = new Map<number, Outcome>(open.map((record) => [record.number, outcomeOf(record)]))
  const outcome = ({ number }: PullRecord): Outcome => ends.get(number) ?? { status: '', target: '' }
  // Only a move of the target merges: the head was not reachable from it before and is afterwards. A draft never merges.
  const merges = (record: PullRecord): boolean => {
    const { target } = outcome(record)
    const head = after.get(record.source_branch) ?? before.get(record.source_branch) ?? record.source_commit
    const isMoved = before.has(target) && after.has(target) && before.get(target) !== after.get(target)
    const isReached = reached(world, after.get(target)).has(head) && !reached(world, before.get(target)).has(head)
    return !record.is_draft && isMoved && isReached
  }
  for (const record of open) if (merges(record)) outcome(record).status = 'merged'
  for (const record of open) {
    if (outcome(record).status !== 'open') continue
    // Deleting the source closes its requests.
    if (!after.has(record.source_branch)) outcome(record).status = 'closed'
    else if (!after.has(record.target_branch)) {
      // Deleting a target retargets to main, or closes where that would make source = target or a second request.
      const isSecond = open.some((other) => {
        const { status, target } = outcome(other)
        return status === 'open' && target === 'main' && other.source_branch === record.source_branch
      })
      if (!after.has('main') || record.source_branch === 'main' || isSecond) outcome(record).status = 'closed'
      else {
        outcome(record).target = 'main'
        if (merges(record)) outcome(record).status = 'merged'
      }
    }
  }
  return ends
}

function reached({ parents }: World, head: string | undefined): Set<string> {
  const found = new Set<string>()
  const visit = (n: number): void => {
    found.add(oidOf(n))
    for (const parent of parents[n] ?? []) visit(parent)
  }
  if (head !== undefined) visit(Number(head))
  return found
}

function oidOf(n: number): string {
  return String(n).padStart(40, '0')
}

function byRef(heads: Heads): Heads {
  return new Map([...heads].map(([branch, oid]) => [`refs/heads/${branch}`, oid]))
}

function request(number: number, source: string, target: string, draft: boolean): PullRecord {
  return {
    id: `id-${number}`,
    number,
    title: `Request ${number}`,
    description: '',
    source_branch: source,
    target_branch: target,
    status: 'open',
    is_draft: draft,
    author: bob,
    created_at: '2026-01-01T00:00:00.000Z',
    by: bob,
    at: '2026-01-01T00:00:00.000Z',
    source_commit: oidOf(99),
    target_before: oidOf(98),
    commits_ahead: 1,
    commits_behind: 0,
  }
}
