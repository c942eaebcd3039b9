/** Attacks and ordinary uses that once ended the service or held it up, over HTTP and Git. */

import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { newDesk, remoteUrl } from '../support/desk.ts'
import { gitIn } from '../support/git.ts'
import type { TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import type { SpawnedGrove } from '../support/spawned-grove.ts'

export interface Target {
  readonly grove: SpawnedGrove
  readonly ann: PersonClient
  /** Published, and empty except for its title. */
  readonly node: TestNode
}

/** One attack. `prepare` is not measured. The table shows the result of `work`. */
export interface Attack {
  readonly what: string
  prepare?(target: Target): Promise<void> | void
  work(target: Target): Promise<string>
}

/** Milliseconds after which the run no longer waits for an answer. */
export const patienceMs = 240_000

const pktLine = (text: string) => `${(text.length + 5).toString(16).padStart(4, '0')}${text}\n`

/** The answer to an anonymous GET. */
async function get({ grove }: Pick<Target, 'grove'>, path: string): Promise<string> {
  const response = await fetch(grove.url + path, { signal: AbortSignal.timeout(patienceMs) })
  return `${response.status}, ${mebibytes((await response.arrayBuffer()).byteLength)}`
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`
}

/**
 * Makes a chain of `count` commits with messages of 7.9 MB. The last is the head of main and of `branches` more
 * branches.
 */
function longMessages({ node }: Target, count: number, branches: number): void {
  const message = Buffer.from(`€${'a'.repeat(7_900_000)}`)
  const frame = (n: number) =>
    Buffer.concat([
      Buffer.from(`commit refs/heads/main\nmark :${n + 1}\ncommitter A <a@x.org> 1700000000 +0000\n`),
      Buffer.from(`data ${message.length}\n`),
      message,
      Buffer.from(`\n${n === 0 ? 'from refs/heads/main^0\n' : ''}`),
    ])
  const refs = Array.from({ length: branches }, (_, n) => `reset refs/heads/b${n}\nfrom :${count}\n\n`)
  const input = Buffer.concat([...Array.from({ length: count }, (_, n) => frame(n)), Buffer.from(refs.join(''))])
  node.git.run(['fast-import', '--quiet'], { input })
}

/** Tags a tree of `paths` files in folders of 300. All files have one content, which no other tag has. */
function wideTree(node: TestNode, name: string, paths: number): string {
  const blob = node.git.run(['hash-object', '-w', '--stdin'], { input: name }).toString().trim()
  const treeOf = (lines: readonly string[]) =>
    node.git
      .run(['mktree'], { input: `${lines.join('\n')}\n` })
      .toString()
      .trim()
  const folder = treeOf(Array.from({ length: 300 }, (_, n) => `100644 blob ${blob}\t${n}`))
  const root = treeOf(Array.from({ length: paths / 300 }, (_, n) => `040000 tree ${folder}\t${n}`))
  const commit = node.git.say('commit-tree', root, '-p', 'main', '-m', name)
  node.git.say('update-ref', `refs/tags/${name}`, commit)
  return commit
}

async function tokenUrl({ grove, ann, node }: Target): Promise<string> {
  return remoteUrl(grove, node.org, node.id, ann.session.accessToken)
}

export const attacks: readonly Attack[] = [
  {
    what: 'C2: 1,000 MiB of wants in 3 MB of gzip, anonymous',
    work: async ({ grove, node }) => {
      const frame = Buffer.from(pktLine(`want ${'a'.repeat(40)}`))
      const member = gzipSync(Buffer.alloc(Math.floor(2 ** 20 / frame.length) * frame.length, frame))
      const start = gzipSync(Buffer.from(`${pktLine('command=fetch')}0001`))
      const body = Buffer.concat([start, ...Array.from({ length: 1_000 }, () => member)])
      const headers = { 'git-protocol': 'version=2', 'content-encoding': 'gzip' }
      const url = `${grove.url}/git/${node.org}/${node.id}.git/git-upload-pack`
      const type = { 'content-type': 'application/x-git-upload-pack-request' }
      const signal = AbortSignal.timeout(patienceMs)
      const response = await fetch(url, { method: 'POST', body, headers: { ...headers, ...type }, signal })
      return `${response.status}`
    },
  },
  {
    what: 'C3: a member clones while eight connections are silent',
    work: async (target) => {
      const { grove, node, ann } = target
      const { hostname, port } = new URL(grove.url)
      const silent: Socket[] = []
      for (let n = 0; n < 8; n++) {
        const socket = connect(Number(port), hostname).on('error', () => {})
        silent.push(socket)
        await once(socket, 'connect')
        const bearer = n % 2 === 0 ? '' : `Authorization: Bearer ${ann.session.accessToken}\r\n`
        const path = `/git/${node.org}/${node.id}.git/git-upload-pack`
        socket.write(
          `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-git-upload-pack-request\r\n${bearer}Git-Protocol: version=2\r\nContent-Length: 10\r\n\r\n`,
        )
      }
      await sleep(200)
      const desk = await newDesk()
      try {
        return (await desk.sh(`timeout 60 git clone -q ${await tokenUrl(target)} x`)).code === 0
          ? 'served'
          : 'not served'
      } finally {
        for (const socket of silent) socket.destroy()
        await desk.remove()
      }
    },
  },
  {
    what: 'N1: one page of 65 commits with messages of 7.9 MB, anonymous',
    prepare: (target) => longMessages(target, 65, 0),
    work: (target) => get(target, `${target.node.at}/tree/main/commits?limit=65`),
  },
  {
    what: 'N2: one page of 66 branches on such a commit',
    prepare: (target) => longMessages(target, 1, 66),
    work: async ({ ann, node }) => `${(await ann.get(`${node.at}/branches?limit=66`)).status}`,
  },
  {
    what: 'C5: the first search over 115 texts of 9.9 MB',
    prepare: async ({ grove, ann }) => {
      const text = `€ ${'word '.repeat(1_980_000)}`
      const body = gzipSync(JSON.stringify({ title: 'Long', text_content: text }))
      const authorization = `Bearer ${ann.session.accessToken}`
      const headers = { authorization, 'content-type': 'application/json', 'content-encoding': 'gzip' }
      for (let n = 0; n < 115; n++) {
        const { status } = await fetch(`${grove.url}/orgs/${ann.org}/nodes`, { method: 'POST', body, headers })
        if (status !== 201) throw new Error(`A node of 9.9 MB is ${status}`)
      }
    },
    work: searchOnce,
  },
  {
    what: 'C5: the first search over a text of 9.9 MB of different words',
    prepare: async ({ ann }) => {
      const text = Array.from({ length: 990_000 }, (_, n) => (n + 60_466_176).toString(36)).join(' ')
      await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Words', text_content: text })
    },
    work: searchOnce,
  },
  {
    what: 'C6: the tags of 60 blobs of 31 MiB',
    prepare: ({ node }) => {
      for (let n = 0; n < 60; n++) {
        const input = Buffer.alloc(31 * 2 ** 20, `${n} `)
        const blob = node.git.run(['hash-object', '-w', '--stdin'], { input }).toString().trim()
        node.git.say('update-ref', `refs/tags/t${n}`, blob)
      }
    },
    work: (target) => get(target, `${target.node.at}/tags?limit=200`),
  },
  {
    what: 'H2: main compared with a tag of 90,000 files, anonymous',
    prepare: ({ node }) => void wideTree(node, 'wide', 90_000),
    work: ({ grove, node }) => get({ grove }, `${node.at}/compare?base=main&head=${node.git.say('rev-parse', 'wide')}`),
  },
  {
    what: 'H2: an unknown object among 60 tags of 90,000 paths, anonymous',
    prepare: ({ node }) => {
      for (let n = 0; n < 60; n++) wideTree(node, `t${n}`, 90_000)
    },
    work: (target) => get(target, `${target.node.at}/objects/${'1'.repeat(40)}`),
  },
  {
    what: 'N3: update-branch of 3,000 commits',
    prepare: async ({ node }) => {
      chain(node, 'side', 3_000)
      await node.commit('main', { 'other.txt': 'main continues' })
      await node.open('side')
    },
    work: async ({ ann, node }) => `${(await ann.post(`${node.at}/pull-requests/1/update-branch`, {})).status}`,
  },
  {
    what: 'N4: 100 GETs of a node with 8,739 branches',
    prepare: ({ node }) => {
      const head = node.git.head()
      const refs = Array.from({ length: 8_739 }, (_, n) => `create refs/heads/b${n} ${head}\n`)
      node.git.run(['update-ref', '--stdin'], { input: refs.join('') })
      node.git.say('pack-refs', '--all')
    },
    work: ({ ann, node }) => repeated(100, () => ann.get(node.at)),
  },
  { what: '    100 GETs of a node with one branch', work: ({ ann, node }) => repeated(100, () => ann.get(node.at)) },
  {
    what: 'N5: a push of 2,000 branches',
    work: async (target) => {
      const desk = await newDesk()
      try {
        await desk.done(
          `git clone -q ${await tokenUrl(target)} x; cd x
          head=$(git rev-parse HEAD)
          for n in $(seq 2000); do echo "create refs/heads/b$n $head"; done | git update-ref --stdin
          timeout 600 git push -q origin 'refs/heads/b*'`,
        )
        return `${target.node.git.lines('for-each-ref', 'refs/heads').length - 1} of 2,000 moved`
      } finally {
        await desk.remove()
      }
    },
  },
  {
    what: 'M3: ten commits to a node with 8,000 connections',
    prepare: ({ node }) => {
      const edge = JSON.stringify({ target: node.id })
      const files = Array.from({ length: 8_000 }, (_, n) => [`connections/c${n}.json`, edge])
      node.git.point('main', node.git.commit({ parents: [node.git.head()], files: Object.fromEntries(files) }))
    },
    work: async ({ node }) => {
      for (let n = 0; n < 10; n++) await node.commit('main', { 'line.txt': `${n}` })
      return 'done'
    },
  },
  {
    what: 'M4: ten changes of a role among 151 members',
    prepare: async ({ grove, ann, node }) => {
      const created_at = new Date(0).toISOString()
      const files = Array.from({ length: 150 }, (_, n) => {
        const text = JSON.stringify({ email: `m${n}@example.org`, name: `M ${n}`, role: 'reader', created_at })
        return [`members/${randomUUID()}.json`, text]
      })
      const git = gitIn(grove, node.org, 'org')
      git.point('main', git.commit({ parents: [git.head()], files: Object.fromEntries(files) }))
      await signUp(grove, 'Bob')
      await ann.put(`/orgs/${node.org}/members/bob@example.org`, { role: 'reader' })
    },
    work: ({ ann, node }) =>
      repeated(10, (n) =>
        ann.put(`/orgs/${node.org}/members/bob@example.org`, { role: n % 2 === 0 ? 'editor' : 'reader' }),
      ),
  },
]

async function repeated(count: number, work: (n: number) => Promise<{ readonly status: number }>): Promise<string> {
  const statuses = new Set<number>()
  for (let n = 0; n < count; n++) statuses.add((await work(n)).status)
  return [...statuses].join()
}

async function searchOnce({ ann }: Target): Promise<string> {
  const { status } = await ann.post(`/orgs/${ann.org}/search/retrieve`, { query: 'word', expansion_depth: 'none' })
  return `${status}`
}

/** Makes a chain of commits of one line each, from main. */
function chain({ git }: TestNode, branch: string, count: number): void {
  const commit = (n: number) =>
    `commit refs/heads/${branch}\ncommitter A <a@x.org> ${1_700_000_000 + n} +0000\ndata 1\nx\n${n === 0 ? 'from refs/heads/main^0\n' : ''}M 100644 inline line.txt\ndata 8\n${randomBytes(4).toString('hex')}\n`
  git.run(['fast-import', '--quiet'], { input: Array.from({ length: count }, (_, n) => commit(n)).join('') })
}
