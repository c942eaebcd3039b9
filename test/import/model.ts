/** A model of a folder that is edited: its files, and which node each of them should be. */

import { expect } from 'chai'

/** Lines that no other name has. */
export function text(name: string, lines = 10): string {
  return Array.from({ length: lines }, (_, at) => `${name} says ${at}\n`).join('')
}

export const steps = [
  'rename',
  'rename and edit',
  'edit',
  'swap',
  'delete',
  'create',
  'bring back',
  'bring back elsewhere',
] as const

/** Files, and what their nodes should be: a number for each node. */
export function startModel() {
  const files = new Map<string, string>()
  const nodeAt = new Map<string, number>()
  const deleted: { path: string; content: string; node: number }[] = []
  const ids = new Map<number, string>()
  let count = 0
  for (let at = 0; at < 5; at++) create(`n${at}.md`)
  return { files, take, judge, forget }

  function create(path: string): void {
    nodeAt.set(path, ++count)
    files.set(path, text(`T${count}`))
  }

  /** Each file is touched once a round: git, too, sees no more than the states. */
  function take(what: (typeof steps)[number], which: number, where: number, touched: Set<string>): void {
    const free = [...files.keys()].filter((path) => !touched.has(path))
    const path = free[which % Math.max(free.length, 1)]
    const fresh = `${['', 'x/', 'x/y/', 'z/'][where % 4]}f${++count}.md`
    if (what === 'create') {
      create(fresh)
      touched.add(fresh)
    } else if (what.startsWith('bring back')) {
      const old = deleted.findIndex((one) => !files.has(one.path) && !touched.has(one.path))
      const [back] = old < 0 ? [] : deleted.splice(old, 1)
      if (!back) return
      const at = what === 'bring back' ? back.path : fresh
      files.set(at, what === 'bring back' ? text(`other ${count}`) : back.content)
      nodeAt.set(at, back.node)
      touched.add(at).add(back.path)
    } else if (path !== undefined) change(what, path, fresh, free[where % free.length] ?? path, touched)
  }

  function change(what: string, path: string, fresh: string, other: string, touched: Set<string>): void {
    const [content = '', node = 0] = [files.get(path), nodeAt.get(path)]
    touched.add(path).add(fresh)
    if (what === 'edit') files.set(path, text(`edited ${++count}`))
    else if (what === 'swap') {
      touched.add(other)
      files.set(path, files.get(other) ?? '').set(other, content)
    } else {
      files.delete(path)
      nodeAt.delete(path)
      if (what === 'delete') deleted.push({ path, content, node })
      else {
        files.set(fresh, what === 'rename' ? content : content.replace(/ says 3\n/, ` says ${++count}!\n`))
        nodeAt.set(fresh, node)
      }
    }
  }

  /** Deleted files cannot come back as the nodes that they were. */
  function forget(): void {
    deleted.length = 0
  }

  function judge(found: ReadonlyMap<string, string>, round: string): void {
    for (const [path, node] of nodeAt) {
      const id = found.get(path)
      const expected = ids.get(node)
      if (expected !== undefined) expect(id, `${path} after ${round}`).to.equal(expected)
      else expect([...ids.values()], `${path} after ${round}`).to.not.include(id)
      ids.set(node, id ?? '')
    }
  }
}
