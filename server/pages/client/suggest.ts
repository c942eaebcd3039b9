/** The form of a suggestion, with a preview of its difference from the present text. */

import { diffWordsWithSpace } from 'diff'

/** Words that differ, above which they are not compared. */
const mostEdits = 400

/** Turns the form of a comment into one that suggests a text. @param typed an earlier draft */
export function openSuggestion(form: HTMLFormElement, original: string, typed = original): void {
  const block = form.querySelector<HTMLElement>('[data-suggest]')
  const field = block?.querySelector('textarea')
  const before = block?.querySelector('input')
  if (!block || !field || !before) return
  Object.assign(before, { value: original, disabled: false })
  Object.assign(field, {
    value: typed,
    disabled: false,
    rows: Math.min(12, Math.max(3, original.split('\n').length + 1)),
  })
  block.hidden = false
  form.querySelector('[data-suggest-link]')?.remove()
  const why = form.querySelector<HTMLTextAreaElement>('textarea[name="text"]')
  if (why) {
    Object.assign(why, { required: false, placeholder: 'Why? (optional)' })
    why.setAttribute('aria-label', 'Why? (optional)')
  }
  const submit = form.querySelector('button[value="comment"]')
  if (submit) submit.textContent = 'Suggest'
  follow(field, original)
}

/** Shows below the field how its text differs. */
function follow(field: HTMLTextAreaElement, original: string): void {
  const preview = Object.assign(document.createElement('p'), { className: 'suggested' })
  field.after(preview)
  const show = () => {
    const changes = diffWordsWithSpace(original, field.value, { maxEditLength: mostEdits })
    const parts = changes ?? [
      { value: original, removed: true, added: false },
      { value: field.value, removed: false, added: true },
    ]
    preview.hidden = field.value === original
    preview.replaceChildren(
      ...parts.map(({ value, removed, added }) => marked(value, removed ? 'del' : added ? 'ins' : 'span')),
    )
  }
  field.addEventListener('input', show)
  show()
}

function marked(text: string, name: 'del' | 'ins' | 'span'): HTMLElement {
  return Object.assign(document.createElement(name), { textContent: text })
}
