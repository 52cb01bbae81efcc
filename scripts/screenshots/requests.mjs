// The requests in the screenshots.

export const database = {
  kind: 'question',
  toolName: 'ask_user',
  request: {
    questions: [
      {
        header: 'Database',
        question: 'Which database?',
        options: [{ label: 'SQLite' }, { label: 'Postgres' }],
        multiSelect: false,
      },
    ],
  },
}

export const layout = {
  kind: 'question',
  toolName: 'ask_user',
  request: {
    questions: [
      {
        header: 'Layout',
        question: 'How should the product page be laid out?',
        options: [
          {
            label: 'Side by side',
            description: 'The picture beside the text.',
            preview: '┌────────┬────────┐\n│ image  │ title  │\n│        │ price  │\n└────────┴────────┘',
          },
          {
            label: 'Stacked',
            description: 'The picture above the text.',
            preview:
              '┌─────────────────┐\n│      image      │\n├─────────────────┤\n│ title     price │\n└─────────────────┘',
          },
        ],
        multiSelect: false,
      },
      {
        header: 'Colours',
        question: 'Which colours?',
        options: [{ label: 'Warm' }, { label: 'Cold' }],
        multiSelect: true,
      },
      { header: 'Name', question: 'What should it be called?', options: [], multiSelect: false },
    ],
  },
}

export const deploy = {
  kind: 'approval',
  toolName: 'Bash',
  request: {
    input: {
      command: Array.from(
        { length: 400 },
        (_, line) => `scp build/part-${line}.js shop@\u202e10.0.0.7:/srv/shop/`,
      ).join('\n'),
    },
    reason: 'The new build has to be on the server before the sale begins.',
    blockedPath: '/srv/shop',
    suggestions: [
      { type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: 'scp:*' }], behavior: 'allow' },
    ],
  },
}

export const migrate = {
  kind: 'approval',
  toolName: 'mcp__shop__migrate',
  request: {
    input: {
      from: 3,
      to: 4,
      tables: ['items', 'orders'],
      options: { dryRun: false, note: 'keeps the old columns' },
    },
    preview: {
      diffs: [
        {
          path: '/shop/schema.sql',
          oldText: 'create table items (\n  id integer primary key,\n  name text\n);\n',
          newText:
            'create table items (\n  id integer primary key,\n  name text not null,\n  price integer\n);\n',
        },
      ],
    },
  },
}

export const rewrite = {
  kind: 'plan_review',
  toolName: 'ExitPlanMode',
  request: {
    plan: [
      '# Move the cart to the server',
      'The cart is kept in `localStorage`, which **a second window does not see**. See [the notes](https://example.com/cart).',
      '## Steps',
      '1. Add a table, and a route that reads it',
      '2. Let `render` ask for it\n   - at the start\n   - after every change',
      '```ts\nexport function total(items: Item[]): number {\n  // Prices are in cents.\n  return items.reduce((sum, { price }) => sum + price, 0)\n}\n```',
      '| file | lines | why |\n| --- | ---: | --- |\n| cart.ts | 120 | reads and writes the cart |\n| db.ts | 48 | holds the new table |',
      '> It takes about an hour, and changes nothing that customers see.',
    ].join('\n\n'),
  },
}

export const release = {
  kind: 'form',
  toolName: 'fill_form',
  request: {
    message: 'Some things about the **release**.',
    schema: {
      fields: [
        { name: 'version', type: 'text', label: 'Version', required: true, description: 'As three numbers.' },
        { name: 'people', type: 'number', label: 'For how many percent of the people', min: 1, max: 100 },
        { name: 'day', type: 'date', label: 'On which day' },
        {
          name: 'channels',
          type: 'multiselect',
          label: 'Channels',
          options: [
            { value: 'stable', label: 'Stable' },
            { value: 'beta', label: 'Beta' },
          ],
        },
        {
          name: 'region',
          type: 'select',
          label: 'Region',
          options: Array.from({ length: 200 }, (_, n) => ({ value: n, label: `Region ${n}` })),
        },
        { name: 'sure', type: 'checkbox', label: 'The notes are written', required: true },
      ],
    },
  },
}
