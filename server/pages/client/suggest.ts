/** The form of a suggestion, with a preview of its difference from the current text. */

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
  // The field has the text of these lines.
  for (const line of form.querySelectorAll<HTMLInputElement>('.line-number')) line.readOnly = true
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
    preview.hidden = field.value === original
    preview.replaceChildren(
      ...partsOf(original, field.value).flatMap(({ same, gone, come }) => [
        ...marked('span', same),
        ...marked('del', gone),
        ...marked('ins', come),
      ]),
    )
  }
  field.addEventListener('input', show)
  show()
}

/** Unchanged text, and then the change after it. */
interface Part {
  same: string
  gone: string
  come: string
}

/** Compares two texts by words. White space does not separate two changes. */
function partsOf(before: string, after: string): Part[] {
  const changes = diffWordsWithSpace(before, after, { maxEditLength: mostEdits })
  if (!changes) return [{ same: '', gone: before, come: after }]
  const parts: Part[] = [{ same: '', gone: '', come: '' }]
  for (const [at, { value, removed, added }] of changes.entries()) {
    const last = parts.at(-1)
    if (last && (removed || (!added && at > 0 && value.trim() === ''))) last.gone += value
    if (last && (added || (!removed && at > 0 && value.trim() === ''))) last.come += value
    if (!removed && !added && (at === 0 || value.trim() !== '')) parts.push({ same: value, gone: '', come: '' })
  }
  return parts
}

function marked(name: 'del' | 'ins' | 'span', text: string): HTMLElement[] {
  return text === '' ? [] : [Object.assign(document.createElement(name), { textContent: text })]
}
