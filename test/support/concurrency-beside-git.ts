/** Rules that hold while native Git writes: clients that push, and operators at work. */

import { expect } from 'chai'
import type { Doors } from './concurrency-rules.ts'
import { git, gitDid, gitLines } from './data-folder.ts'
import { newDesk, remoteUrl } from './desk.ts'
import { commitOf, created, times } from './many.ts'
import { newNode } from './node.ts'
import type { Answer, Client, PersonClient } from './people.ts'

interface Place {
  readonly doors: Doors
  readonly ann: PersonClient
  /** Ann's client for the URL number `n`, modulo their count. */
  readonly at: (n: number) => Client
}

/** Defines the rules as tests. */
export function rulesBesideGit(place: () => Place): void {
  it('has one winner for each head while clients push over HTTP and commit over REST, and loses neither', async () => {
    const { doors, ann, at } = place()
    const node = await newNode(doors, ann)
    const root = node.git.head()
    const desk = await newDesk()
    const push = async (pusher: number) => {
      const url = remoteUrl(
        { url: doors.urls[pusher % doors.urls.length] ?? '' },
        node.org,
        node.id,
        ann.session.accessToken,
      )
      const again = 'git push -q 2> /dev/null || { git pull -q --rebase; sleep 0.1; }'
      const text = await desk.done(
        `git clone -q ${url} p${pusher}; cd p${pusher}
         for n in 1 2 3; do
           git commit -q --allow-empty -m "push ${pusher} $n"
           until [ "$(git ls-remote -q origin main | cut -f1)" = "$(git rev-parse HEAD)" ] ||
             git merge-base --is-ancestor HEAD origin/main; do ${again}; done
         done`,
      )
      expect(text).to.equal('')
    }
    const rest = async (writer: number) => {
      const mine: string[] = []
      for (let n = 0; n < 10; n++)
        mine.push(created(await at(writer).post(`${node.at}/tree/main/commits`, commitOf(`${writer} ${n}`))).id)
      return mine
    }
    const [written] = await Promise.all([times(3, rest), times(3, push)])
    const history = await gitLines(node.git.dir, 'log', '--format=%H %P', 'main')
    const oids = history.map((line) => line.split(' ')[0])
    expect(history).to.deep.equal([...oids.slice(0, -1).map((oid, n) => `${oid} ${oids[n + 1]}`), root])
    expect(oids).to.include.members(written.flat())
    const subjects = await gitLines(node.git.dir, 'log', '--format=%s', '--grep=^push', 'main')
    expect(subjects.sort()).to.deep.equal([0, 1, 2].flatMap((pusher) => [1, 2, 3].map((n) => `push ${pusher} ${n}`)))
    await desk.remove()
  })

  it('loses no commit while git update-ref runs, which compares the old value', async () => {
    const { doors, ann, at } = place()
    const node = await newNode(doors, ann)
    const root = node.git.head()
    let writing = true
    const byHand: string[] = []
    const hand = async () => {
      while (writing) {
        const old = await git(node.git.dir, 'rev-parse', 'main')
        const commit = await git(
          node.git.dir,
          'commit-tree',
          `${old}^{tree}`,
          '-p',
          old,
          '-m',
          `by hand ${byHand.length}`,
        )
        if (await gitDid(node.git.dir, 'update-ref', 'refs/heads/main', commit, old)) byHand.push(commit)
      }
    }
    const rest = async (writer: number) => {
      const mine: string[] = []
      for (let n = 0; n < 8; n++) {
        mine.push(created(await at(writer).post(`${node.at}/tree/main/commits`, commitOf(`${writer} ${n}`))).id)
      }
      return mine
    }
    const [written] = await Promise.all([times(4, rest).finally(() => (writing = false)), hand()])
    const history = await gitLines(node.git.dir, 'rev-list', 'main')
    expect([...history].sort()).to.deep.equal([root, ...written.flat(), ...byHand].sort())
    expect((await at(1).get(`${node.at}/tree/main/commits`)).body.total).to.equal(history.length)
  })

  it('loses nothing and fails no read while an operator packs refs and collects garbage', async () => {
    const { doors, ann, at } = place()
    const node = await newNode(doors, ann)
    let writing = true
    const operator = async () => {
      while (writing) {
        for (let n = 0; n < 5; n++) await gitDid(node.git.dir, 'pack-refs', '--all', '--prune')
        await gitDid(node.git.dir, 'gc', '--quiet')
      }
    }
    const reader = async () => {
      const answers: Answer[] = []
      for (let n = 0; writing; n++) {
        for (const what of ['', '/branches', '/tree/main', '/tree/main/commits', '/pull-requests?status=all'])
          answers.push(await at(n).get(node.at + what))
      }
      return answers.filter(({ status }) => status !== 200)
    }
    const writer = async (n: number) => {
      const branch = n === 0 ? 'main' : `deep/er/b${n}`
      if (n > 0) created(await at(n).post(`${node.at}/branches`, { name: branch }))
      const mine: string[] = []
      for (let commit = 0; commit < 15; commit++) {
        const passing = `passing/${n}/${commit}`
        if (commit % 5 === 0) created(await at(n).post(`${node.at}/branches`, { name: passing }))
        const path = `${node.at}/tree/${encodeURIComponent(branch)}/commits`
        mine.push(created(await at(n + commit).post(path, commitOf(`${n} ${commit}`))).id)
        if (commit % 5 === 0) {
          const gone = await at(n).delete(`${node.at}/branches/${encodeURIComponent(passing)}`)
          expect(gone).to.deep.equal({ status: 204, body: undefined })
        }
      }
      return { branch, mine }
    }
    const [written, failed] = await Promise.all([
      times(4, writer).finally(() => (writing = false)),
      reader(),
      operator(),
    ])
    expect(failed).to.deep.equal([])
    for (const { branch, mine } of written) {
      const [, ...before] = (await gitLines(node.git.dir, 'rev-list', branch)).reverse()
      expect(before).to.deep.equal(mine)
    }
    expect(await gitLines(node.git.dir, 'for-each-ref', '--format=%(refname)', 'refs/heads/passing')).to.deep.equal([])
  })
}
