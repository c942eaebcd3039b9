/** Tasks: list items that begin with `[ ]` or `[x]`. */

import type { Markdown } from '../../markdown/dialect.ts'

export function addTasks(markdown: Markdown): void {
  markdown.core.ruler.after('inline', 'tasks', ({ tokens, Token }) => {
    for (const [index, { type, children }] of tokens.entries()) {
      const item = tokens[index - 2]
      const [first] = children ?? []
      if (type !== 'inline' || item?.type !== 'list_item_open' || first?.type !== 'text' || !children) continue
      const [mark, state] = /^\[([ xX])\](?:\s+|$)/.exec(first.content) ?? []
      if (mark === undefined) continue
      first.content = first.content.slice(mark.length)
      item.attrSet('class', 'task')
      const box = new Token('task_box', 'input', 0)
      box.info = state === ' ' ? 'open' : 'done'
      children.unshift(box)
    }
  })
  markdown.renderer.rules.task_box = (tokens, index) => {
    const isDone = tokens[index]?.info === 'done'
    const state = isDone ? ' checked aria-label="Completed task"' : ' aria-label="Open task"'
    return `<input type="checkbox" disabled${state}> `
  }
}
