/** Requests for changes that follow their change into other pull requests, and how few merges that takes. */

import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { ann, bob, grove, proposalOn, rae, review, setRules, useDoors } from './doors.ts'

const lines = Array.from({ length: 90 }, (_, n) => `Line ${n} is about whales.`)

/** The text with these lines in other words. */
const textWith = (changed: Readonly<Record<number, string>>) =>
  `${lines.map((line, at) => changed[at] ?? line).join('\n')}\n`

/** Moves the branch to a new commit with these files on main. */
function rewrite({ git }: TestNode, branch: string, files: Readonly<Record<string, string>>): void {
  git.point(branch, git.commit({ parents: [git.head()], files, message: branch }))
}

/** Opens a pull request with these files. A user requests changes, and Ann closes it. */
async function objected(node: TestNode, branch: string, files: Readonly<Record<string, string>>, by = bob) {
  rewrite(node, branch, files)
  const proposal = await proposalOn(node, branch)
  await review(by, proposal, 'request_changes')
  await ann.patch(proposal.path, { status: 'closed' }).then(expecting(200))
  return proposal.number
}

const heldBy = async (node: TestNode, number: number): Promise<number[]> =>
  ((await node.pull(number)).consent.objections_elsewhere ?? []).map((one: { number: number }) => one.number)

/** Counts the merges that Git makes for `work`. */
async function countMerges(work: () => Promise<unknown>): Promise<number> {
  const children: ChildProcess[] = []
  const add = (message: unknown) => void children.push((message as { process: ChildProcess }).process)
  subscribe('child_process', add)
  try {
    await work()
  } finally {
    unsubscribe('child_process', add)
  }
  return children.filter(({ spawnargs }) => spawnargs.includes('merge-tree')).length
}

describe('requests for changes of other pull requests', () => {
  useDoors()

  it.deep('cost a list no merge, however many there are, and find a change that main has moved under', async () => {
    const node = await newNode(grove, ann, { text_content: textWith({}) })
    const numbers: number[] = []
    for (let n = 0; n < 12; n++)
      numbers.push(await objected(node, `old-${n}`, { 'content.md': textWith({ [n * 2]: 'No.' }) }))
    rewrite(node, 'main', { 'content.md': textWith({ 80: 'News.' }) })
    for (let n = 0; n < 6; n++) {
      rewrite(node, `new-${n}`, { 'content.md': textWith({ 80: 'News.', [40 + n * 2]: 'Yes.' }) })
      await node.open(`new-${n}`)
    }
    rewrite(node, 'again', { 'content.md': textWith({ 80: 'News.', 6: 'No.' }) })
    const again = await node.open('again')
    await setRules({ branches: ['main'], approvals: 1 })
    // A new head is a change that nobody has compared.
    for (let n = 0; n < 6; n++) rewrite(node, `new-${n}`, { 'content.md': textWith({ 80: 'News.', [50 + n]: 'Yes.' }) })
    const merges = await countMerges(() =>
      ann.get(`${node.at}/pull-requests?status=open&limit=100`).then(expecting(200)),
    )
    expect(merges).to.equal(0)
    expect(await heldBy(node, again.number)).to.deep.equal([numbers[3]])
  })

  it.deep('hold up what is left of a change after its first part was merged, unless the rest differs', async () => {
    const node = await newNode(grove, ann, { text_content: 'Whales.\n' })
    await setRules({ branches: ['main'], approvals: 1 })
    const [a, b] = [{ 'a.txt': 'A.\n' }, { 'b.txt': 'B.\n' }]
    const number = await objected(node, 'both', { ...a, ...b })
    rewrite(node, 'half', b)
    const half = await node.open('half')
    expect(await heldBy(node, half.number), 'a part').to.deep.equal([])
    rewrite(node, 'main', a)
    rewrite(node, 'half', b)
    expect(await heldBy(node, half.number), 'the rest').to.deep.equal([number])
    rewrite(node, 'main', { 'a.txt': 'Other.\n' })
    rewrite(node, 'half', b)
    expect(await heldBy(node, half.number), 'another first part').to.deep.equal([])
  })

  it.deep('count as alike beyond the newest 20 that contain the change', async () => {
    const node = await newNode(grove, ann, { text_content: 'Whales.\n' })
    await setRules({ branches: ['main'], approvals: 1 })
    const numbers: number[] = []
    for (let n = 0; n < 21; n++)
      numbers.push(await objected(node, `both-${n}`, { 'a.txt': 'A.\n', 'b.txt': `B ${n}.\n` }))
    rewrite(node, 'half', { 'a.txt': 'A.\n' })
    const { number } = await node.open('half')
    expect(await heldBy(node, number)).to.deep.equal([numbers[0]])
  })

  it.deep('are found among 16, each of which has other lines in all of a large file', async () => {
    const large = (first: number) =>
      `${Array.from({ length: 25_000 }, (_, n) => (first * 25_000 + n).toString(36).padStart(9, '0')).join('\n')}\n`
    const node = await newNode(grove, ann, { text_content: 'Whales.\n' })
    rewrite(node, 'main', { 'large.txt': large(0) })
    const numbers: number[] = []
    for (let n = 1; n <= 16; n++) numbers.push(await objected(node, `old-${n}`, { 'large.txt': large(n) }))
    rewrite(node, 'again', { 'other.txt': '' })
    const { number } = await node.open('again')
    await setRules({ branches: ['main'], approvals: 1 })
    rewrite(node, 'main', { 'other.txt': '' })
    rewrite(node, 'again', { 'large.txt': large(5) })
    expect(await heldBy(node, number)).to.deep.equal([numbers[4]])
  })

  it.deep('follow no amended commit if no rule asks for the user, and moved lines are another change', async () => {
    const node = await newNode(grove, ann, { text_content: 'One.\nTwo.\nThree.\n' })
    const moved = { 'content.md': 'Two.\nOne.\nThree.\n' }
    const [byRae, byBob] = [await objected(node, 'rae', moved, rae), await objected(node, 'bob', moved)]
    rewrite(node, 'again', moved)
    const { number } = await node.open('again')
    expect(await heldBy(node, number), 'without a rule').to.deep.equal([])
    await setRules({ branches: ['main'], approvals: 1 })
    expect(await heldBy(node, number), 'of an editor').to.deep.equal([byBob])
    expect(byRae).to.be.lessThan(byBob)
    rewrite(node, 'again', { 'content.md': 'One.\nThree.\nTwo.\n' })
    expect(await heldBy(node, number), 'other lines').to.deep.equal([])
  })
})
