/**
 * Every step of every operation at which its process can die or the file system can fail, and in the end every answer from
 * a rebuilt index. Of the objects of change sets, every 20th. `npm run test:points [-- OPERATION [EIO|KILL]]`, about half
 * an hour for all.
 */

import { rm } from 'node:fs/promises'
import { machineLine, printTable } from '../bench/report.ts'
import { seed } from '../support/seed.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { consentOperations, removeDesk } from './consent-points.ts'
import { judgeLeftovers, judgeRebuild, judgeRepositories } from './folder.ts'
import { judgeJointMoves } from './joint-points.ts'
import { judgeMoves } from './move-points.ts'
import { type Operation, operations as otherOperations } from './point-operations.ts'
import { judgePoints, setScene } from './points.ts'
import { setOperations, sweptProblems } from './set-points.ts'
import { verdict } from './story.ts'
import { createWorld } from './world.ts'

const operations = { ...otherOperations, ...consentOperations, ...setOperations }
/** Operations that judge themselves. */
const others: Readonly<Record<string, () => Promise<{ readonly rows: string[][]; readonly problems: string[] }>>> = {
  'a joint transaction': async () => {
    const { points, torn, pairs, problems } = await judgeJointMoves(seed)
    console.log(`${torn} points were torn until recovery. Readers read ${pairs} pairs of pages.`)
    const rows = [['a joint transaction', 'the process dies', String(points), String(problems.length)]]
    return { rows, problems }
  },
  'a move': () => judgeMoves(Number(every)),
}
const [chosen, every = '1'] = process.argv.slice(2)
const names = Object.keys(operations).filter((name) => chosen === undefined || name === chosen)
const faults = every === 'EIO' || every === 'KILL' ? [every] : ['EIO', 'KILL']
const otherNames = Object.keys(others).filter((name) => chosen === undefined || name === chosen)
if (names.length + otherNames.length === 0) {
  console.error(
    `npm run test:points [-- OPERATION [EIO|KILL]]. OPERATION is one of: ${Object.keys({ ...operations, ...others }).join('; ')}`,
  )
  process.exit(2)
}
console.log(machineLine())
const rows: string[][] = []
const problems: string[] = []
for (const name of names) await judgeOperation(name)
await removeDesk()
for (const name of otherNames) {
  const found = await others[name]?.()
  problems.push(...(found?.problems ?? []))
  rows.push(...(found?.rows ?? []))
}
console.log()
printTable([['operation', 'fault', 'steps', 'problems'], ...rows])
process.exit(verdict(problems))

/** In a data folder of its own. */
async function judgeOperation(name: string): Promise<void> {
  const make: Operation | undefined = operations[name]
  if (!make) return
  const scene = await setScene()
  const { dataDir, living } = scene
  const isOfSets = name in setOperations
  // A set writes hundreds of objects before its refs move.
  const isChosen = (step: string, at: number) => !isOfSets || !step.includes('/objects/') || at % 20 === 0
  let last: SpawnedGrove | undefined
  try {
    for (const fault of ['EIO', 'KILL'] as const) {
      if (!faults.includes(fault)) continue
      const found = await judgePoints(scene, make, fault, isChosen)
      problems.push(...found.problems.map((problem) => `${name}: ${problem}`))
      rows.push([
        name,
        fault === 'EIO' ? 'the step fails' : 'the process dies',
        String(found.points),
        String(found.problems.length),
      ])
      console.log(rows.at(-1)?.join(', '))
    }
    await scene.renew()
    const { ann } = scene
    const world = createWorld({ dataDir, org: ann.org, email: ann.user.email, reviewer: '', environment: {} })
    const suffering = await scene.suffering()
    await judgeLeftovers(world, 2)
    await judgeRepositories(world)
    await judgeRebuild(world, ann.session.accessToken, [living, suffering], scene.close, async () => {
      last = await spawnGrove(dataDir)
      return last
    })
    await last?.stop()
    if (isOfSets) world.problems.push(...(await sweptProblems(dataDir)))
    problems.push(...world.problems.map((problem) => `${name}, in the end: ${problem}`))
  } finally {
    await scene.close()
    await last?.kill()
    await rm(dataDir, { recursive: true, force: true })
  }
}
