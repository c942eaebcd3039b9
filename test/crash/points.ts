/** Every place in an operation at which its process can die, or at which the file system can fail, one after the other. */

import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { grove as command } from '../support/command.ts'
import { locksIn, newDataDir } from '../support/data-folder.ts'
import { type Faults, prepareFaults } from '../support/faults.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import type { Place, Subject } from './point-operations.ts'
import { settled } from './problems.ts'
import { logIn } from './story.ts'

export interface Scene extends Place {
  /** Never touched by a fault. */
  readonly living: SpawnedGrove
  readonly faults: Faults
  /** The one that suffers; a fresh one where it has died. */
  suffering(): Promise<SpawnedGrove>
  /** Signs `ann` in again in good time before her token ends. */
  renew(): Promise<void>
  close(): Promise<void>
}

/** A third of the life of an access token, in milliseconds. */
const renewalMs = 5 * 60_000

export async function setScene(): Promise<Scene> {
  const folder = await newDataDir()
  const faults = prepareFaults()
  // Some operations need a new organisation at each step.
  const unlimited = { QUOTA_ORGS: '0' }
  const living = await spawnGrove(folder, unlimited)
  let ann = await signUp(living, 'Ann')
  let signedIn = Date.now()
  await command(folder, 'account', 'admin', ann.user.email)
  let grove: SpawnedGrove | undefined
  return {
    dataDir: folder,
    get ann() {
      return ann
    },
    living,
    faults,
    suffering: async () => {
      if (grove) return grove
      const fresh = await spawnGrove(folder, { ...unlimited, ...faults.environment, UV_THREADPOOL_SIZE: '1' })
      void fresh.exited.then(() => {
        grove = undefined
      })
      grove = fresh
      return fresh
    },
    renew: async () => {
      if (Date.now() - signedIn < renewalMs) return
      ann = await signInAgain(living, ann)
      signedIn = Date.now()
    },
    close: async () => {
      await grove?.kill()
      await living.kill()
      await faults.remove()
    },
  }
}

async function signInAgain(living: SpawnedGrove, { user, org, session }: PersonClient): Promise<PersonClient> {
  const accessToken = await logIn(user, living)
  return { ...client(living, accessToken), user, org, session: { ...session, accessToken } }
}

/** The steps of the operation, in order, as faults.cc names them. */
async function stepsOf(scene: Scene, make: (scene: Scene) => Promise<Subject>): Promise<string[]> {
  const grove = await scene.suffering()
  const { ask, id } = await make(scene)
  await scene.faults.ask(`LOG 0 ${id}`)
  const answer = await ask(client(grove, scene.ann.session.accessToken), grove)
  if (answer.status >= 300) throw new Error(`It was answered ${answer.status} ${JSON.stringify(answer.body)}`)
  await sleep(100)
  const steps = await scene.faults.logged()
  await scene.faults.none()
  return steps
}

/** True for a sync of the index, the log or their folder: refs restore both, so no answer waits for it. */
function isIndex(dataDir: string, step: string): boolean {
  return step.endsWith(` ${dataDir}`) || /\/(index|events)\.sqlite/.test(step)
}

/** The problems at every step that `isChosen`, and how many those are. */
export async function judgePoints(
  scene: Scene,
  make: (scene: Scene) => Promise<Subject>,
  fault: 'KILL' | 'EIO',
  isChosen: (step: string, at: number, steps: readonly string[]) => boolean,
): Promise<{ readonly points: number; readonly problems: string[] }> {
  // Folders of objects, of branches and of the trash are there the second time.
  await stepsOf(scene, make)
  const steps = await stepsOf(scene, make)
  const problems: string[] = []
  let points = 0
  for (const [at, step] of steps.entries()) {
    if (!isChosen(step, at, steps)) continue
    points++
    problems.push(...(await problemsAt(scene, make, fault, at + 1)))
  }
  return { points, problems }
}

/** The problems of an operation whose `n`-th step fails or kills the process. */
async function problemsAt(
  scene: Scene,
  make: (scene: Scene) => Promise<Subject>,
  fault: 'KILL' | 'EIO',
  n: number,
): Promise<string[]> {
  await scene.renew()
  const { faults, ann, living, dataDir } = scene
  const problems: string[] = []
  const grove = await scene.suffering()
  const subject = await make(scene)
  const person = client(grove, ann.session.accessToken)
  await faults.ask(`${fault} ${n} ${subject.id}`)
  const answer = await subject.ask(person, grove).catch(() => undefined)
  const [failed] = await faults.logged()
  await faults.none()
  const acknowledged = answer !== undefined && answer.status < 300
  if (fault === 'KILL') await grove.kill()
  if (fault === 'EIO') {
    if (answer === undefined || (answer.status >= 300 && answer.status !== 503))
      problems.push(`answered ${answer?.status} ${JSON.stringify(answer?.body)}`)
    if (acknowledged && failed?.includes('sync') && !isIndex(dataDir, failed))
      problems.push(`answered ${answer.status} after a ${failed} that failed`)
    const state = await subject.state(person)
    if (state.startsWith('between')) problems.push(`where it failed: ${state}`)
  }
  const other = client(living, ann.session.accessToken)
  const state = await subject.state(other)
  if (state.startsWith('between')) problems.push(state)
  if (acknowledged && state !== 'new') problems.push(`answered ${answer.status}, and it is ${state}`)
  const again = await subject.ask(other, living)
  if (!subject.repeated.includes(again.status) && !subject.repeated.includes(again.body?.code))
    problems.push(`asked again: ${again.status} ${JSON.stringify(again.body)}`)
  const end = await subject.state(other)
  if (end !== 'new') problems.push(`asked again: ${end}`)
  try {
    if (existsSync(subject.git.dir)) subject.git.fsck()
  } catch (error) {
    problems.push(`git fsck: ${error}`)
  }
  // Where all was done before the process died, no other has found its locks yet: the next one that starts does.
  if (fault === 'KILL') await scene.suffering()
  // The sweep may be at work.
  await settled({ problems }, 'locks are left', async () =>
    (await locksIn(dataDir)).filter((lock) => lock.includes(subject.id) || lock.includes('/org.git/')),
  )
  return problems.map((problem) => `${fault} at step ${n}${failed ? `, a ${failed}` : ''}: ${problem}`)
}
