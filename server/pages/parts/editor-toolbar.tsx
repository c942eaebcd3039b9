/** The toolbar of the editor. A script shows it; the plain form has none. */

import { Icon, type IconName } from './icons.tsx'

interface Tool {
  /** The command in client/editor-tools.ts. */
  readonly act: string
  readonly label: string
  readonly icon: IconName
  /** The key that does the same. */
  readonly key?: string
  /** True if the button shows whether the selection has it. */
  readonly isToggle?: boolean
}

const groups: readonly (readonly Tool[])[] = [
  [
    { act: 'heading', label: 'Heading', icon: 'heading' },
    { act: 'bold', label: 'Bold', icon: 'bold', key: 'B', isToggle: true },
    { act: 'italic', label: 'Italic', icon: 'italic', key: 'I', isToggle: true },
    { act: 'link', label: 'Link', icon: 'link', key: 'K', isToggle: true },
  ],
  [
    { act: 'list', label: 'List', icon: 'list' },
    { act: 'tasks', label: 'Tasks', icon: 'tasks' },
    { act: 'quote', label: 'Quote', icon: 'quote' },
  ],
  [
    { act: 'code', label: 'Code', icon: 'code', key: 'E', isToggle: true },
    { act: 'table', label: 'Table', icon: 'table' },
    { act: 'attach', label: 'Attach a picture or file', icon: 'picture' },
  ],
]

export function EditorToolbar() {
  return (
    <div class="toolbar" role="toolbar" aria-label="Formatting" data-toolbar hidden>
      {groups.map((tools) => (
        <div class="toolbar-group">
          {tools.map(({ act, label, icon, key, isToggle }) => (
            <button
              class="tool"
              type="button"
              data-do={act}
              aria-label={label}
              title={key === undefined ? label : `${label} (Ctrl+${key})`}
              {...(key !== undefined && { 'aria-keyshortcuts': `Control+${key}` })}
              {...(isToggle && { 'aria-pressed': 'false' })}
            >
              <Icon name={icon} size={18} />
            </button>
          ))}
        </div>
      ))}
    </div>
  )
}

/** The keys of the editor, for the list that `?` shows. */
export const editorKeys = JSON.stringify({
  'Ctrl+S, Ctrl+Enter': 'Save, from every field',
  'Ctrl+B': 'Bold',
  'Ctrl+I': 'Italic',
  'Ctrl+K in the text': 'Link',
  'Ctrl+E': 'Code',
  'Ctrl+F': 'Find and replace in the text',
  'Ctrl+Z': 'Undo',
  '[[': 'Link to a page',
  '/ after a space': 'Insert a heading, list, table or other block',
  Enter: 'Continue a list, quote or table. On an empty item or row, end it',
  'Tab, Shift+Tab': 'Move an item of a list right or left. In a table, go to the next or previous cell',
  'Escape, then Tab': 'Leave the text',
})
