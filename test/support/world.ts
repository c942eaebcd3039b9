/** A world: a service and its users, for the tests of one describe. */

import { expect } from 'chai'
import { updateAccount } from '../../server/domain/accounts/administration.ts'
import { operator } from '../../server/domain/actor.ts'
import { type Grove as Api, type Schemas, grove as typedClient } from '../../spec/client/client.ts'
import { exchangeFetch } from './exchange.ts'
import { type Grove, type GroveOptions, startGrove } from './grove.ts'
import { expecting, newNode, type TestNode } from './node.ts'
import { type PersonClient, signUp } from './people.ts'

/** The role in the organisation of the first user. Strangers and administrators of the service are not members. */
export type Role = Schemas['Role'] | 'stranger' | 'administrator'

export interface User extends PersonClient {
  /** The typed client. It returns the body of a success, and throws a GroveError for any other answer. */
  readonly api: Api
  /** Creates a node, by default in the user's personal organisation. */
  node(fields?: object, org?: string): Promise<TestNode>
}

export interface WorldOptions extends GroveOptions {
  /** The service has a clock that only `pass` moves. True: it begins on 1 January 2026. */
  readonly clock?: boolean | Date
}

/** Options that need something first, such as a mail server, are a function. It is called before the service starts. */
type Prepared = WorldOptions | (() => Promise<WorldOptions>)

interface Common {
  readonly grove: Grove
  /** Moves the service's clock. */
  pass(seconds: number): void
  /** The time by the service's clock. */
  now(): Date
  /** Signs up one more user. */
  newUser(name: string, role?: Role): Promise<User>
  /** The nodes that `node` of any user has created. */
  readonly nodes: readonly TestNode[]
  /** Registers a test of `nodes`. */
  leavesCleanRepositories(): void
}

/** `grove` and the users can be used only in hooks and tests. */
export type World<N extends string> = Common & Readonly<Record<N, User>>

interface Startable {
  /** Registers hooks that start and stop the world. `options` are added to those of the scene. */
  useScene(options?: Prepared): void
}

export type Scene<N extends string> = World<N> & Startable

/** Starts a world for the describe that calls it. `roles` has the users by name. The first one owns the organisation. */
export function useWorld<N extends string>(roles: Readonly<Record<N, Role>>, options: Prepared = {}): World<N> {
  const scene = newScene(roles)
  scene.useScene(options)
  return scene
}

/** A world for the `scene.ts` of a folder, started by each describe that calls `useScene`. */
export function newScene<N extends string>(roles: Readonly<Record<N, Role>>, options: WorldOptions = {}): Scene<N> {
  const world = new RunningWorld()
  const names = Object.keys(roles) as N[] // its only keys
  const users = Object.fromEntries(names.map((name) => [name, late(name, () => world.users.get(name))]))
  const common: Common & Startable = {
    grove: late('grove', () => world.grove),
    pass: (seconds) => world.pass(seconds),
    now: () => world.started().deps.now(),
    newUser: (name, role = 'stranger') => world.newUser(name, role),
    nodes: world.nodes,
    leavesCleanRepositories: () => world.leavesCleanRepositories(),
    useScene: (more = {}) => {
      before(async () => {
        await world.start({ ...options, ...(typeof more === 'function' ? await more() : more) })
        for (const name of names) world.users.set(name, await world.newUser(capitalised(name), roles[name]))
      })
      after(() => world.stop())
    },
  }
  return { ...common, ...users } as unknown as Scene<N> // Object.fromEntries forgets the names
}

class RunningWorld {
  grove: Grove | undefined
  readonly users = new Map<string, User>()
  readonly nodes: TestNode[] = []
  private owner: User | undefined
  /** Undefined: the service uses the clock of the machine. */
  private timeMs: number | undefined

  async start({ clock = false, ...options }: WorldOptions): Promise<void> {
    if (this.grove) throw new Error('This world has already started. Call useScene once for each describe')
    this.timeMs = clock === false ? undefined : Number(clock === true ? Date.parse('2026-01-01T00:00:00Z') : clock)
    this.nodes.length = 0
    const now = this.timeMs === undefined ? {} : { now: () => new Date(this.timeMs ?? 0) }
    this.grove = await startGrove({ ...now, ...options })
  }

  async stop(): Promise<void> {
    const { grove } = this
    this.grove = undefined
    this.owner = undefined
    this.users.clear()
    await grove?.close()
  }

  /** Returns the service. @throws Error if it is not running */
  started(): Grove {
    if (!this.grove) throw new Error('The world has not started')
    return this.grove
  }

  pass(seconds: number): void {
    if (this.timeMs === undefined) throw new Error('This world has no clock. Start it with { clock: true }')
    this.timeMs += seconds * 1_000
  }

  async newUser(name: string, role: Role): Promise<User> {
    const grove = this.started()
    const person = await signUp(grove, name)
    const api = typedClient({ url: grove.url, token: person.session.accessToken, fetch: exchangeFetch })
    const node: User['node'] = async (fields, org = person.org) => {
      const made = await newNode(grove, { ...person, org }, fields)
      this.nodes.push(made)
      return made
    }
    const user = { ...person, api, node }
    if (role === 'administrator')
      await updateAccount(
        { ...grove.deps, actor: operator },
        { path: { account_id: user.user.id }, body: { is_admin: true } },
      )
    else if (role !== 'stranger') await this.join(user, role)
    return user
  }

  private async join(user: User, role: Schemas['Role']): Promise<void> {
    if (this.owner)
      await this.owner.put(`/orgs/${this.owner.org}/members/${user.user.email}`, { role }).then(expecting(200))
    else if (role === 'owner') this.owner = user
    else throw new Error(`${user.user.name} cannot be ${role}: the first member of a world must be an owner`)
  }

  leavesCleanRepositories(): void {
    it('leaves repositories that git fsck finds clean', () => {
      expect(this.nodes).to.not.have.length(0)
      for (const { git } of this.nodes) git.fsck()
    })
  }
}

/** An object that reads another one which exists only while tests run. */
function late<T extends object>(name: string, find: () => T | undefined): T {
  const found = () => {
    const value = find()
    if (value === undefined) throw new Error(`${name} can be used only in hooks and tests, while its world is running`)
    return value
  }
  return new Proxy({} as T, {
    get: (_, key) => Reflect.get(found(), key),
    has: (_, key) => Reflect.has(found(), key),
    ownKeys: () => Reflect.ownKeys(found()),
    getOwnPropertyDescriptor: (_, key) => Reflect.getOwnPropertyDescriptor(found(), key),
  })
}

function capitalised(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
